// Package plan decides what one sync does. Each package below it decides one subject.
//
// Start with plan.go: Make turns an Observed into a Plan. report.go hands the decisions on to the status. final.go plans for a PodManager that is
// being deleted. backoff.go removes requests in backoff from a plan. ownership.go decides which pods to adopt and which leftovers to delete.
// leaving.go takes leaving pods out of the count. indices.go decides which indices and names are free, pod.go builds a new pod, and spread.go
// decides over what it is spread. future.go replaces times in the status that cannot be right.
//
//	podstate   facts about one pod
//	history    templates and their revisions
//	requeue    when to sync again, and what a refusal means
//	compare    what differs between two templates
//	inplace    updating a pod without replacing it
//	health     availability, diagnosis and backoff of one pod
//	leaving    which pods are replaced before they are gone: on drained or lost nodes, or too old
//	rollout    which pods to delete, update and create, within which budget
//	status     what the status reports: counts and conditions
//
// Everything here is a pure function of the observed objects and the time: no clients, no logging, no clock.
package plan
