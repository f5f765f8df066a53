// Package scenarios has the scenarios of a chaos campaign. scenarios.go lists them all.
//
// A scenario is a function that gets a scene: a test environment with helpers for several scenarios. Scenarios of one kind are in one file. Shared
// helpers are in the file of the scenario that needs them most.
//
//	process.go, standby.go, successor.go   an API server that is killed; controllers that are stopped, and their Leases; a second controller that waits for one
//	shards.go, replicas.go, takeover.go    replicas that share the work; their group; how soon they take over from each other
//	network.go                             connections that go dead
//	restore.go, webhook.go                 parts of the control plane that go back in time, or break
//	collector.go                           a garbage collector that is down
//	nodes.go                               nodes that are drained or lost
//	fields.go                              all values of a spec, by the real schema
package scenarios
