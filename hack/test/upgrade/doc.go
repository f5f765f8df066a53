// Package upgrade tests, on a real API server, that the controller and its CRD can be replaced by another version and back.
//
// The CRD and the controller of an earlier commit bring PodManagers into every state that lasts. Today's version replaces them, and later the
// earlier one comes back. Meanwhile a watch compares every version of every PodManager, pod and ControllerRevision with its state before. Then the
// test lets the rollouts continue, and they have to end as if nothing had happened.
//
// A cluster has only one CRD, so no other suite may use the cluster at the same time. At the end the suite restores today's CRD.
//
//	main_test.go      building the earlier version, and restoring today's
//	version_test.go   a version: its files, its program, its installation
//	upgrade_test.go   the test
//	fleet_test.go     the replicas of the controller, with and without shards, and their replacement
//	states_test.go    the states, and how each of them ends
//	subject_test.go   a PodManager in a state, and its way there
//	witness_test.go   the watch that compares
//	changes_test.go   what a replacement may change, in words; the comparison, which needs no cluster
package upgrade
