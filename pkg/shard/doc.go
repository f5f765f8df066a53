// Package shard divides PodManagers into a fixed number of shards, and shards among replicas of the controller.
//
// shard.go tells to which shard a PodManager belongs, and how pods and revisions show it. share.go decides, as a pure function, which shards
// a replica takes, gives up and asks for.
//
// Who really holds a shard is up to its Lease, see pkg/leader. A wrong view of the replicas costs balance, never safety.
package shard
