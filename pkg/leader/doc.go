// Package leader runs work in one of several replicas at a time: the one that holds a Lease.
//
// election.go stands for election with client-go, runs the work while this process leads, and releases the Lease once the work has drained.
// drain.go gives the work a bounded time to drain, with an election or without one. held.go lets the work write only while the Lease is
// held. witness.go notices by the Lease that the API server has gone back in time.
//
// With shards there is a Lease for each of them. group.go takes and gives up shards, as pkg/shard decides. members.go keeps the Lease that
// tells the others that this replica is alive, and the one that keeps single leaders away. observer.go watches the Leases of all replicas.
//
// What the work is, and when a replica may stand for election, cmd/controller decides.
package leader
