// Package leader runs work in one replica at a time: the replica that holds a Lease.
//
// election.go stands for election with client-go, runs the work while this process leads, and releases the Lease after the work has drained.
// drain.go limits how long the work may drain, with or without an election. held.go lets the work write only while this process holds the
// Lease.
//
// With sharding, each shard has a Lease. group.go takes, gives up and asks for shards as pkg/shard decides. observer.go watches the Leases of
// all replicas. locks.go has the locks on these Leases, and the lock on the Lease that keeps single leaders away.
//
// cmd/controller decides what the work is and when a replica may stand for election.
package leader
