// Package simulation compares the simulated API server (hack/sim/apiserver) with the real one: the same requests and watches go to both, and
// the answers must agree.
//
// Run it with make e2e SUITE=simulation.
//
//	main_test.go     the real cluster
//	servers_test.go  a request, sent to both; what of an answer is compared
//	requests_test.go the requests
//	watches_test.go  watches
package simulation
