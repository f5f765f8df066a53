// Package executor carries out a plan. Each request can be repeated, and a lost response does no harm.
//
// Start with executor.go: Begin makes sure that the plan still matches the live PodManager, and Apply carries the plan out in order. pods.go
// creates, deletes, adopts and releases pods. updates.go patches pods in place. revisions.go writes revisions, finalizer.go the finalizer.
// shards.go labels objects with their shard. parallel.go sends requests in parallel.
//
// Package plan decides what to do, and package report tells users about it.
package executor
