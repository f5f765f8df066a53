// Package plan holds all policy of PodManager: plain functions from what was observed, and the time, to what is to be
// done and said. It decides and never acts: no clients, no logging, no clock of its own.
//
//	plan.go       what a sync shall do: Make
//	ownership.go  which pods are ours, to adopt, or to let go
//	names.go      pod names, indices and labels
//	revision.go   templates and the names they are stored under
//	rollout.go    how pods stand to revisions, and where they are to go
//	moves.go      which pods go and come, within the limits; moves_inplace.go which are changed instead
//	inplace.go    changing pods without replacing them; inplace_patch.go the patches, resources.go CPU and memory
//	failing.go    when a pod of a new revision counts as failing; blame.go what its containers do that counts
//	progress.go   the deadline of a rollout; proven.go when a revision is one to return to
//	pod.go        the pod that is made from a revision
//	podstate.go   what can be read off a single pod
//	ranking.go    who goes first when there are too many
//	backoff.go    when a failed pod is replaced, and which failed pods are kept
//	failure.go    what a refused request means
//	pace.go       how soon a refused request, and a status, is written again; again.go when to look again at all
//	status.go     the counts; conditions.go the conditions; diagnosis.go the sentence about the worst pod; overdue.go
//	              the one about pods that do not go; transitions.go the steps that events tell of
package plan
