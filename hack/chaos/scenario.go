package main

import (
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

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

// scenarios are all scenarios, in the order of the table.
func scenarios() []scenario {
	all := []scenario{
		{name: "churn", about: "objects and pods come, change and go at random; the controller is killed every second or so",
			runs: 3, short: true, do: churnWithKills},
		{name: "crash", about: "the controller is killed before and after every single write of create, scale, update and delete",
			short: true, limit: 10 * time.Minute, do: crashAtEveryWrite},
		{name: "ambiguous-create", about: "the answers to 30 % of all creates are lost, while the watch lags",
			runs: 2, short: true, do: ambiguousCreate},
		{name: "split-brain", about: "leaders are stopped past their lease, in the middle of work, and wake up beside their successors",
			runs: 5, short: true, do: splitBrain},
		{name: "standby", about: "a standby sees 20 000 events about pods, then the leader is stopped; its memory does not grow, and it takes over at once",
			short: true, oursOnly: true, do: standby},
		{name: "shards", about: "replicas that share the work are killed, stopped, cut off, replaced, robbed of shards, and their clocks set, during churn and with lost answers",
			runs: 3, short: true, oursOnly: true, limit: 10 * time.Minute, do: shardsUnderFaults},
		{name: "api-server-killed", about: "the API server is killed in the middle of churn",
			runs: 4, short: true, alone: true, do: func(a *arena) { killComponent(a, lab.APIServer, apiServerKills) }},
		{name: "etcd-killed", about: "etcd is killed in the middle of churn",
			runs: 4, alone: true, do: func(a *arena) { killComponent(a, lab.Etcd, etcdKills) }},
	}
	all = append(all, ruleScenarios()...)
	all = append(all, networkScenarios()...)
	return all
}
