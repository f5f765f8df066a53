// Package rollout decides which active pods are deleted, updated in place and created, and within which budget.
//
// The new revision has the spec's template. Updated pods have the new revision. All other pods are old, and belong to the old side: a partition, a
// pause and a halt leave them alone. Missing pods of the old side are created from the revision that runs there. A revision is good once it is
// proven. The last good revision is the current one, to which a rollback returns.
//
// Start with state.go: Assess sorts the pods by side and finds what halts the rollout. actions.go decides which pods are deleted and how many are
// created. limits.go collects maxSurge and maxUnavailable (their percentages become numbers in the API package, defaults.go) and computes the minimum
// of available pods, and budget.go keeps within it: enforceMaxSurge, mayTakeDown for maxUnavailable, and a limit on updated pods that are unavailable
// at a time. budget.go also puts the pods in the order in which they are deleted: those that must leave (LeaveFirst) before all others. outdated.go
// changes that order during a rollout, and divides outdated pods into pods to update in place and pods to replace. obstacle.go describes why a pod
// cannot be updated in place. failing.go decides when a pod is failing and when it has recovered, which ends a halt, and condemns a revision with too
// many failing pods. records.go has what the status records about them. policy.go also ends a halt when the user changes the failure policy.
// deadline.go runs the clock of progressDeadlineSeconds and names the failed revision. proven.go decides when a revision is good. conclusion.go sums
// up what the status says about the revisions; later plans act on it.
//
// Package status decides the texts of conditions and events, except for why a pod is deleted or cannot be updated in place. This package neither
// chooses the names of pods nor sends requests.
package rollout
