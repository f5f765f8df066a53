// Package faults does to a controller what networks and API servers do on bad days, and watches what comes of it.
//
//	proxy.go    stands between a controller and the API server
//	rules.go    which requests the proxy fails or delays, and which answers it drops
//	watches.go  stalling and cutting watches
//	link.go     a connection that goes dead without breaking
//	clock_*.go  sets the clock of one process
//	oracle.go   sees every version of every pod and of its owner, past the proxy
//	states.go   the fields that the oracle keeps of pods and owners
//	replay.go   goes through these versions in their order, and tells which invariants did not hold
//	report.go   the violations that the oracle has found
package faults
