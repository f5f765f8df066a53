// Package shards tests several replicas of the controller that share the work, on a real API server.
//
// Each test has a separate group of replicas: a namespace for its PodManagers, and Leases with separate names.
package shards
