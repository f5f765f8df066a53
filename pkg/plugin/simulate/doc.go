// Package simulate previews a rollout or a drain: the controller's planner runs in the simulated cluster of its property tests.
//
// Start with simulate.go: Run simulates the rollout from the current state and returns a Report. start.go builds the start of the simulation from
// what the user may read, and failing.go selects the pods that fail. drain.go drains nodes, and room.go
// limits the pods to the room that a surge pod has. events.go records what happens and when, and
// outcome.go how the rollout ends. age.go leaves the replacement of old pods out. table.go and words.go format the report.
//
// Nothing here decides about pods or writes to the cluster: package plan decides, and package world carries out its decisions.
package simulate
