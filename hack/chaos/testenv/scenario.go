package testenv

import "time"

// Scenario describes faults, and what the user does in the meantime.
type Scenario struct {
	// Name is the name for SCENARIO=, and part of the names of namespaces.
	Name string
	// About describes the scenario in one line.
	About string
	// Runs is the minimum number of runs in a full campaign; 1 if zero.
	Runs int
	// Short means that the scenario is part of the short campaign, in its short form.
	Short bool
	// Alone means that the scenario disturbs the whole cluster, so contenders take turns.
	Alone bool
	// OursOnly means that the scenario does not apply to ReplicaSets.
	OursOnly bool
	// Limit is the maximum duration of a run; 6 minutes if zero.
	Limit time.Duration
	// Do plays the scenario.
	Do func(e *Env)
}
