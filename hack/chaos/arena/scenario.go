package arena

import "time"

// Scenario is one kind of bad day.
type Scenario struct {
	// Name is the name in SCENARIO=, and a part of the names of namespaces.
	Name string
	// About describes the scenario in one line.
	About string
	// Runs is how many runs a full campaign makes at the least; 1 if not given.
	Runs int
	// Short tells that the scenario is a part of the short campaign, with short arenas.
	Short bool
	// Alone tells that the scenario disturbs the whole cluster, so that the contenders take turns.
	Alone bool
	// OursOnly tells that ReplicaSets do not have what the scenario is about.
	OursOnly bool
	// Limit is how long a run may take; 6 minutes if not given.
	Limit time.Duration
	// Do plays the scenario.
	Do func(a *Arena)
}
