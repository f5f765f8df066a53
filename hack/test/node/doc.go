// Package node tests PodManager where containers run: on the real node of make cluster-up NODE=real. Every test checks what the pods report: their
// UID and address, how often their containers were restarted, and the version and the limits that the web server in them answers with.
//
// Run it with make e2e-node. Each test has a separate namespace, and they run in parallel, after the tests that need the node or the controller for
// themselves.
//
//	main_test.go        building and starting what all tests share
//	space_test.go       a test's namespace: kubectl, waiting, pods and their answers
//	node_test.go        the node's kubelet and runtime, and a revision under observation while they are disturbed
//	second_test.go      the second real node, which is there while the test that drains it runs
//	witness_test.go     what happened to pods and endpoints, in order
//	limits_test.go      how many pods there were, and were available, at all times
//	registry_test.go    a registry, and the controller's image in it
//	deployment_test.go  the controller as a Deployment: its replicas, and what they and the kernel report
//	webhook_test.go     what users see of its webhooks, which the API server reaches through their Service
//	simulation*_test.go whether the simulated nodes of all other tests behave like this one: the comparison, the operations on
//	                    pods, and what the controller reads of a pod
//	*_test.go           one file for each guarantee about kubelets
package node
