// Package rollout decides which active pods are deleted, updated in place and created, and within which budget.
//
// The new revision has the spec's template. Updated pods have the new revision. Pods of any other are old, and on the old side: a partition, a
// pause and a halt leave them alone. Missing pods of the old side are made from what runs there. A revision is good once it has proved itself; the
// last good one is the current one, to which a rollback returns.
//
// Start with state.go: Assess sorts the pods by side and finds what halts the rollout. moves.go decides which pods are deleted and how
// many are created. budget.go has the limits: enforceMaxSurge, mayTakeDown for maxUnavailable, and a quota, which limits how many updated
// pods are unavailable at a time. outdated.go divides outdated pods into those to update in place and those to replace, obstacle.go says why
// a pod cannot be updated in place. failing.go judges failing pods and condemns a revision that has too many, records.go has what the status
// remembers of them. deadline.go runs the clock of progressDeadlineSeconds and names the failed revision, proven.go tells when a revision is
// good.
//
// Nothing here decides what conditions and events say: package status does. Nothing here names pods or makes requests.
package rollout
