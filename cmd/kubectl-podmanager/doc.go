// Package main is kubectl podmanager, also called kubectl pm: flags and wiring only. What it knows is in pkg/plugin.
//
// main.go turns errors into exit codes. plugin.go has what all verbs share, and the list of the verbs. get.go, rollout.go, inspect.go and
// simulate.go have the verbs that read, change.go and undo.go those that write, convert.go what makes PodManagers of other kinds,
// complete.go the completion for kubectl,
// version.go the version.
package main
