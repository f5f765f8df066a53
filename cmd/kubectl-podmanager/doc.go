// Package main is kubectl pm, a plugin for kubectl: flags and wiring only. The logic is in pkg/plugin.
//
// main.go turns errors into exit codes. plugin.go has the list of verbs and what they share. get.go, rollout.go, inspect.go and simulate.go have
// the verbs that read, and change.go and undo.go the verbs that write. pods.go has logs, exec and port-forward. convert.go converts other kinds to
// PodManagers, migrate.go rewrites stored PodManagers, complete.go has the completion for kubectl, and version.go the version.
package main
