// Package simulation compares the simulated API server (hack/sim/apiserver) with the real one. The same requests and watches go to both, and the
// answers must agree.
//
// Run it with make e2e SUITE=simulation.
//
//	main_test.go     the real cluster
//	servers_test.go  a request that is sent to both, and the parts of an answer that are compared
//	requests_test.go the requests
//	watches_test.go  watches
package simulation
