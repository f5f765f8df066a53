package main

import "time"

// scenario is one kind of bad day.
type scenario struct {
	// name is the name in SCENARIO=, and a part of the names of namespaces.
	name string
	// about describes the scenario in one line.
	about string
	// runs is how many runs a full campaign makes at the least; 1 if not given.
	runs int
	// short tells that the scenario is a part of the short campaign, with short arenas.
	short bool
	// alone tells that the scenario disturbs the whole cluster, so that the contenders take turns.
	alone bool
	// oursOnly tells that ReplicaSets do not have what the scenario is about.
	oursOnly bool
	// limit is how long a run may take; 6 minutes if not given.
	limit time.Duration
	do    func(a *arena)
}
