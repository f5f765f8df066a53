// Package node tests PodManager where containers run: on the real node of make cluster-up NODE=real. Every test judges by
// what the pods say themselves: their UID and address, how often their containers were restarted, the version and the limits
// that the web server in them answers with.
//
// Run it with make e2e-node. Each test has a namespace of its own, and they run in parallel, after those that need the node or the
// controller for themselves.
//
//	main_test.go        building and starting what all tests share
//	space_test.go       a test's namespace: kubectl, waiting, pods and what they answer
//	node_test.go        the node's kubelet and runtime, and a revision on trial while something is done to them
//	witness_test.go     what happened to pods and endpoints, in order
//	limits_test.go      how many pods there were, and were available, all the time
//	registry_test.go    a registry, and the controller's image in it
//	deployment_test.go  the controller as a Deployment: its replicas, and what they and the kernel say
//	webhook_test.go     what users see of its webhooks, which the API server reaches through their Service
//	simulation*_test.go whether the simulated nodes of all other tests show what this one shows: the comparison, the operations on
//	                    pods, and what the controller reads of a pod
//	*_test.go           one file for each promise about kubelets
package node
