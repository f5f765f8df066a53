// Package leader runs work in one of several replicas at a time: the one that holds a Lease.
//
// election.go stands for election with client-go, runs the work while this process leads, and releases the Lease once the work has drained.
// drain.go gives the work a bounded time to drain, with an election or without one. held.go lets the work write only while the Lease is
// held.
//
// With shards there is a Lease for each of them. group.go takes, gives up and asks for shards, as pkg/shard decides. observer.go watches the
// Leases of all replicas. locks.go has the locks on these Leases, and on the one that keeps single leaders away.
//
// What the work is, and when a replica may stand for election, cmd/controller decides.
package leader
