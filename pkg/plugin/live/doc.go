// Package live shows PodManagers while they change: show.go for get -w, which redraws a terminal and appends lines to a pipe, and follow.go
// for status, which ends with the rollout.
package live
