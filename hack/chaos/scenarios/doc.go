// Package scenarios has the bad days of a controller. scenarios.go lists them all.
//
// A scenario is a function that gets a scene: an arena with what several scenarios do there. Scenarios of one kind are in one file, and
// what is shared is in the file of the scenario that needs it most.
//
//	process.go, standby.go, successor.go   controllers that are killed or stopped, and their Leases; a second controller that waits for one
//	shards.go, crew.go, takeover.go        replicas that share the work; the group of them; how soon they take over from each other
//	network.go                             connections that go dead
//	restore.go, webhook.go                 parts of the control plane that go back in time, or break
//	deletion.go                            a namespace that goes away; a garbage collector that is away
//	fields.go                              all values of a spec, by the real schema
package scenarios
