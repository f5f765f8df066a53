// Package tenure knows which replica held which shard's Lease when, and who wrote what, and judges invariant I6 by that: only the replica that
// holds the Lease of a PodManager's shard writes to its objects.
//
// Start with Judge in ledger.go, and with mayWrite in tenure.go, which it asks about each write.
//
//	history.go  all versions of the Leases, from a watch, and what the harness itself does to Leases and clocks
//	tenure.go   who held a Lease at a time, who took it, and when nobody held it
//	ledger.go   the writes of the replicas, from the audit log; Judge compares them with the history
//
// Replicas are started, disturbed and ended elsewhere: by the crew of hack/chaos/scenarios. How soon they must take over from each other is decided
// there, too.
package tenure
