// Package check checks whether PodManagers can work in a cluster: the CRD, the controller, the user's permissions, and the features of the API
// server.
//
// Start with check.go: FindingsIn turns the facts that package cluster has read into findings with advice. shards.go checks which replica holds which
// shard. policy.go checks whether users can gain permissions, budget.go whether a PodDisruptionBudget is missing or blocks drains, and surge.go
// whether a rollout would wait for a surge pod, or its pods are refused. conditions.go repeats the conditions that ask the user to act. facts.go has
// the facts.
package check
