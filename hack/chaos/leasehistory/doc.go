// Package leasehistory records which replica held which shard's Lease when, and which replica wrote what. It checks invariant I6: only the replica
// that holds the Lease of a PodManager's shard writes to its objects.
//
// Start with Judge in ledger.go, and with mayWrite in holders.go, which it calls for each write.
//
//	history.go  all versions of the Leases, from a watch, and what the harness does to Leases and clocks
//	holders.go  which replica held or took a Lease at a time, and when no replica held it
//	ledger.go   the writes of the replicas, from the audit log; Judge compares them with the history
//
// The replicaGroup of hack/chaos/scenarios starts, disturbs and ends replicas. It also decides how soon they must take over from each other.
package leasehistory
