// Package e2e tests PodManager on a real API server: the controller is the built program, it runs under its own
// ServiceAccount with nothing but artifacts/rbac.yaml, and what users do is done with the real kubectl.
//
// Run it with make e2e. Each test has a namespace of its own, and they run in parallel.
//
//	main_test.go       building and starting what all tests share
//	controller_test.go the controller as a process of hack/lab: start, stop, kill, metrics, log
//	space_test.go      a test's namespace: kubectl, waiting, pods
//	pods_test.go       what is asked about pods
//	pod_watch_test.go  all that has become of a namespace's pods over time, and what held all the while
//	*_test.go          one file for each part of the product
package e2e
