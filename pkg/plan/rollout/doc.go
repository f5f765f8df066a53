// Package rollout decides which active pods are deleted, updated in place and created, and within which budget.
//
// The new revision is that of the spec's template, the old revision the one that pods are updated from and rolled back to. Updated
// pods are of the new revision, old pods of the old one, and stray pods of any other. A revision is good once it has proved itself.
//
// Start with state.go: Assess sorts the pods by revision and finds what halts the rollout. moves.go decides which pods are deleted and how
// many are created. budget.go has the limits: enforceMaxSurge, mayTakeDown for maxUnavailable, and a quota, which limits how many updated
// pods are unavailable at a time.
// outdated.go divides outdated pods into those to update in place and those to replace, obstacle.go says why a pod cannot be updated in
// place. failing.go judges failing pods and condemns a revision that has too many, deadline.go runs the clock of progressDeadlineSeconds and
// names the failed revision, proven.go tells when a revision is good.
//
// Nothing here decides what conditions and events say: package status does. Nothing here names pods or makes requests.
package rollout
