// Package check judges whether PodManagers can work in a cluster: the CRD, the controller, the user's rights, and what the API server offers.
//
// Start with check.go: Judge turns facts, which package cluster has read, into findings with advice. shards.go judges who holds which shard,
// policy.go whether users can gain rights.
package check
