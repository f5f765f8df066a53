// Package plan holds all policy of PodManager: plain functions from what was observed, and the time, to what is to be
// done and said. It decides and never acts: no clients, no logging, no clock of its own.
//
//	plan.go       what a sync shall do: Make
//	ownership.go  which pods are ours, to adopt, or to let go
//	names.go      pod names, indices and labels
//	pod.go        the pod that a PodManager asks for, and its revision
//	podstate.go   what can be read off a single pod
//	ranking.go    who goes first when there are too many
//	backoff.go    when a failed pod is replaced, and which failed pods are kept
//	failure.go    what a refused request means
//	status.go     the counts; conditions.go the conditions; diagnosis.go the sentence about the worst pod
package plan
