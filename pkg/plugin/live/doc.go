// Package live shows PodManagers while they change. show.go is for get -w, which redraws a terminal or appends lines to a pipe. follow.go is for
// status, which ends with the rollout.
package live
