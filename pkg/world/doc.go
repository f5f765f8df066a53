// Package world is a simulated cluster with one PodManager, in as much detail as the planner sees: an API server that may fail,
// nodes, and people. A seed stands for one course of events, on every machine.
//
//	world.go     the cluster, and what the controller does to it: Observe, Apply, Report, and Sync, which is all three
//	requests.go  creating, deleting and changing pods, unless the API server fails
//	patch.go     patches, as the API server applies them
//	node.go      what nodes do about pods; containers.go about their containers; inplace.go about updates in place
//	mishap.go    what befalls pods and nodes
//	spec.go      random specs and templates; people.go those who edit them; past.go a PodManager that has been there for long
//	time.go      how time passes, in trouble and in calm
//	truth.go     what is so, whatever the planner thinks of it: which pods serve, and which are behind
//	blame.go     which pods have failed by themselves, and since when
//
// It knows of pkg/plan only what is exported, and works out by itself what it has to know about a pod: it is there to find the
// planner in the wrong. Nothing here may import testing; the promises that are checked in this world are in its tests.
package world
