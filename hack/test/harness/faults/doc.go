// Package faults injects the faults of networks and API servers into the environment of a controller, and checks the results.
//
//	proxy.go    a proxy between a controller and the API server
//	rules.go    which requests the proxy fails or delays, and which answers it drops
//	watches.go  stalling and cutting watches
//	link.go     a connection that goes dead without breaking
//	clock_*.go  sets the clock of one process
//	oracle.go   sees every version of every pod and its owner, without the proxy
//	states.go   the fields that the oracle keeps of pods and owners
//	replay.go   goes through these versions in order, and finds violated invariants
//	report.go   the violations that the oracle has found
package faults
