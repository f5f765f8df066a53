// Package shard divides PodManagers into a fixed number of shards, and distributes the shards among replicas of the controller.
//
// shard.go determines the shard of a PodManager, and how the labels of pods and revisions show it. share.go decides, as a pure function,
// which shards a replica takes, gives up and asks for.
//
// The Lease of a shard determines who holds it; see pkg/leader. A wrong view of the replicas costs balance, never safety.
package shard
