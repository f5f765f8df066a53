// Package executor carries out a plan. Each request can be repeated, and a lost answer does no harm.
//
// Start with executor.go: Begin makes sure that the plan still fits the live PodManager, Apply carries the plan out in order. pods.go
// creates, deletes, adopts and releases pods, updates.go patches them in place, revisions.go and finalizer.go write what their names say,
// shards.go labels objects with their shard, parallel.go makes many requests at a time.
//
// Package plan decides what to do, and package report tells users about it.
package executor
