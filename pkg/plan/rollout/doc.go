// Package rollout decides where the active pods are to go, and within which budget.
//
// Start with state.go: Assess sorts the pods by revision and finds what stops the rollout. moves.go decides which pods are terminated
// and how many are created; budget.go has the limits (maxSurge, maxUnavailable, the quota of unproven pods); inplace.go picks the pods to
// update in place, obstacle.go says why one cannot be. failing.go judges failing pods, progress.go runs the clock of
// progressDeadlineSeconds and passes the verdict, proven.go tells when a revision is the one to return to.
//
// Nothing here talks to people: package status does. Nothing here names pods or makes requests.
package rollout
