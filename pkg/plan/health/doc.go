// Package health judges one pod: whether it is available, what is wrong with it, and when a failed pod is replaced.
//
// Start with availability.go, the only judge of availability for what is done and for what is said. diagnosis.go finds the worst pod and
// says what is wrong with it. backoff.go counts failures in a row and delays replacements.
//
// Whether a failing pod speaks against its revision is decided in package rollout.
package health
