// Package budget judges what PodDisruptionBudgets let a drain do to the pods of a PodManager, as the disruption controller and the eviction API of
// Kubernetes do.
package budget
