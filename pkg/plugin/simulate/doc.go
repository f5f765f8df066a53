// Package simulate plays a rollout before it happens: the planner of the controller decides, in the simulated world of its property tests.
//
// Start with simulate.go: Run plays the rollout from what is there now, and returns a Report. start.go turns what the user may read into the
// start of that world, failing.go has the pods that are to fail. events.go notes what happens at each time, outcome.go how it ends, table.go
// and words.go show it to people.
//
// Nothing here decides about pods, and nothing is written: package plan decides, package world carries it out.
package simulate
