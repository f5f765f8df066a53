// Package plan decides what one sync shall do. It stands on top of the rooms below it, which decide one subject each.
//
// Start with plan.go: Make turns an Observed into a Plan. final.go plans for a PodManager that is being deleted, hold.go takes out of a
// plan what was refused a moment ago, ownership.go says which pods to adopt and to release, names.go which names are free, and pod.go what
// a new pod looks like.
//
//	podstate   facts about one pod
//	history    templates and their revisions
//	requeue    when to look again, and what a refusal means
//	inplace    updating a pod without replacing it
//	health     availability, diagnosis and backoff of one pod
//	rollout    where the pods are to go, within which budget
//	status     what to say about it, on top of the plan
//
// Everything here is a plain function of what was observed and of the time: no clients, no logging, no clock of its own.
package plan
