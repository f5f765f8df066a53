// Package core tests PodManager on a real API server. The controller is the built program. It runs under its own ServiceAccount with only the
// permissions of artifacts/rbac.yaml, and the tests act as users with the real kubectl.
//
// Run it with make e2e, and the tests that start separate clusters, TestSeparate..., with make e2e SUITE=separate. Each other test has a separate
// namespace, and they run in parallel. A test whose subtests have the namespaces calls t.Parallel
// itself, because otherwise all other tests would wait for its slowest subtest.
//
//	main_test.go       starting the controller that all tests share
//	controller_test.go the controller as a process of hack/test/harness/lab: start, stop, kill, metrics, log
//	space_test.go      a test's namespace: kubectl, waiting, pods
//	pods_test.go       properties of pods
//	rights_test.go     what the controllers did, from the audit log, compared with what they may do
//	*_test.go          one file for each part of the product
package core
