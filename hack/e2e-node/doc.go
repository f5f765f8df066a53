// Package e2enode tests PodManager where containers run: on the real node of make cluster-up NODE=real. Every test judges by
// what the pods say themselves: their UID and address, how often their containers were restarted, the version and the limits
// that the web server in them answers with.
//
// Run it with make e2e-node. Each test has a namespace of its own, and they run in parallel, but for those that do something to the whole
// node: drain_test.go and kubelet_test.go.
//
//	main_test.go      building and starting what all tests share
//	space_test.go     a test's namespace: kubectl, waiting, pods and what they answer
//	node_test.go      the node's kubelet and runtime, and a revision on trial while something is done to them
//	witness_test.go   what happened to pods and endpoints, in order
//	*_test.go         one file for each promise about kubelets
package e2enode
