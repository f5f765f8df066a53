// Package faults does to a controller what networks and API servers do on bad days, and watches what comes of it.
//
//	proxy.go    stands between a controller and the API server
//	rules.go    which requests it fails, delays, or forwards and then loses the answer of
//	watches.go  stalling and cutting watches
//	oracle.go   sees every version of every PodManager and pod, past the proxy
//	report.go   tells, from these versions in their order, when there was a pod too many
package faults
