// Package scenarios has the bad days of a controller. scenarios.go lists them all.
//
// A scenario is a function that gets a scene: an arena with what several scenarios do there. Scenarios of one kind are in one file, and
// what is shared is in the file of the scenario that needs it most.
//
//	process.go, standby.go, successor.go   controllers that are killed or stopped, and their Leases; a second controller that waits for one
//	shards.go, crew.go, takeover.go        replicas that share the work; the group of them; how soon they take over from each other
//	crash.go                               a kill before and after every single write
//	network.go, watch.go, halfseen.go      lost answers, dead connections; watches that stall or miss something, or half of it
//	storm.go                               many faults at a time
//	restore.go, webhook.go                 parts of the control plane that go back in time, or break
//	refusal.go, refusal_rules.go           pods that the API server refuses; the rules by which it does
//	lifted.go                              other requests that it refuses for a while
//	identity.go, deletion.go               objects and pods of the same name; what is left of owners that go
//	failing.go, node.go, marked.go         pods that fail, that nodes end, that users want replaced
//	fields.go, poison.go                   all values of a spec; objects that cannot be read
package scenarios
