// Package memory keeps what is worth knowing between two syncs of one PodManager: holds, names that are taken, what was told.
//
// Losing a memory costs a request or two, never correctness: whatever must survive a restart is in the cluster.
package memory
