// Package shards tests, on a real API server, several replicas of the controller that share the work.
//
// Each test has a group of replicas of its own: a namespace for its PodManagers, and Leases of its own name.
package shards
