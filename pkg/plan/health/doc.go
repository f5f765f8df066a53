// Package health assesses one pod: whether it is available, what is wrong with it, and when a failed pod is replaced.
//
// Start with availability.go, which alone decides whether a pod is available, for the rollout and for the status. diagnosis.go finds the worst pod
// and describes what is wrong with it. backoff.go finds the failed pods that no pod replaces, counts failures in a row, and delays replacements.
//
// Package rollout decides whether a failing pod counts against its revision.
package health
