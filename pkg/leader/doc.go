// Package leader runs work in one of several replicas at a time: the one that holds a Lease.
//
// election.go stands for election with client-go, runs the work while this process leads, and releases the Lease once the work has drained.
// drain.go gives the work a bounded time to drain, with an election or without one.
//
// What the work is, and when a replica may stand for election, cmd/controller decides.
package leader
