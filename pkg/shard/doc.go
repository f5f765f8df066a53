// Package shard divides PodManagers into a fixed number of shards, and distributes the shards among replicas of the controller.
//
// shard.go determines the shard of a PodManager, and how the labels of pods and revisions show it. share.go decides, as a pure function,
// which shards a replica takes, gives up and asks for.
//
// The Lease of a shard determines who holds it; see pkg/leader. If a replica sees outdated Leases, the shards may be divided
// unevenly, but a shard never has two holders.
package shard
