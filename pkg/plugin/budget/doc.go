// Package budget judges what PodDisruptionBudgets let a drain do to the pods of a PodManager, by the rules of Kubernetes' disruption controller and
// eviction API.
package budget
