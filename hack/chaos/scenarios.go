package main

import (
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

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

// ruleScenarios are about refusals, deletions, and objects that should not exist.
func ruleScenarios() []scenario {
	return []scenario{
		{name: "quota", about: "a quota admits only a few of many pods, and is lifted after 10 s",
			short: true, do: quota},
		{name: "admission", about: "Pod Security, then an admission policy refuses all pods, and is lifted after 10 s", do: admission},
		{name: "refused-then-allowed", about: "a policy refuses pod deletes, revisions, readiness gates or updates in place for 15 s; everything must be done a minute later",
			short: true, do: refusedThenAllowed},
		{name: "webhook", about: "the webhook that the API server asks about PodManagers is dead, hangs, answers garbage, or its certificate has ended",
			oursOnly: true, do: webhookBreaks},
		{name: "conversion", about: "the webhook that converts between v1 and v1alpha1 is dead, hangs, answers garbage, or its certificate has ended",
			alone: true, oursOnly: true, limit: 10 * time.Minute, do: conversionBreaks},
		{name: "failing-pods", about: "every pod fails as soon as it is ready, for a minute", do: failingPods},
		{name: "node-did-it", about: "nodes evict and reject pods in the middle of a rollout; the revision must not be blamed", short: true, oursOnly: true, do: nodeDidIt},
		{name: "all-marked", about: "every pod is marked for deletion at once; enough must stay available", short: true, oursOnly: true, do: allMarked},
		{name: "namespace-terminating", about: "the namespace is deleted in the middle of a scale-up", short: true, do: namespaceTerminating},
		{name: "finalizer", about: "the controller is killed before and after every write of a deletion: foreground, background and orphan",
			short: true, limit: 10 * time.Minute, do: deletionWithCrashes},
		{name: "orphan-apart", about: "the owner is deleted without its pods while the controller sees the owner, and not the pods",
			short: true, do: orphanApart},
		{name: "collector-away", about: "an owner is deleted and another gets its name while no garbage collector runs",
			alone: true, oursOnly: true, do: collectorAway},
		{name: "etcd-restore", about: "etcd is restored from a backup, so that versions go back and are used again",
			alone: true, do: etcdRestore},
		{name: "etcd-restore-hidden", about: "the same, but the versions are caught up before the controller looks; its Lease tells",
			alone: true, oursOnly: true, do: hiddenRestore},
		{name: "poison", about: "objects that cannot be decoded, and valid objects with extreme values, beside others that must be served as before",
			alone: true, oursOnly: true, do: poison},
		{name: "every-field", about: "every field of the spec gets valid and invalid values; after each the first spec is restored",
			oursOnly: true, do: everyField},
	}
}

// networkScenarios are faults between a controller and the API server.
func networkScenarios() []scenario {
	return []scenario{
		{name: "stale-cache", about: "the watch of pods stalls for longer than the controller ever waits, during churn", do: staleCache},
		{name: "unobserved-change", about: "replicas, image and labels change and change back while watches are stalled, and the events are lost", do: unobservedChange},
		{name: "missed-delete", about: "pods are deleted while the watch is stalled or refused; they must be replaced 5 s after the watch is back", do: missedDelete},
		{name: "watch-gone", about: "watches are cut, and watches and lists are answered 410 for a while, during churn", do: watchGone},
		{name: "server-errors", about: "30 % of the writes are answered 429, 500, 503 or 504 or delayed by seconds, during churn", short: true, do: serverErrors},
		{name: "conflict-storm", about: "others write to the object 50 times a second while it is scaled", do: conflictStorm},
		{name: "black-hole", about: "connections go dead without breaking in the middle of work; the controller must go on within 60 s", do: blackHole},
		{name: "uid-reuse", about: "the object is deleted by force and created again under its name while watches are stalled or the controller is down",
			short: true, do: uidReuse},
		{name: "half-seen", about: "the watch of the owner, then the watch of pods stalls during a scale-up, after some of its pods were seen; names become free meanwhile",
			runs: 2, short: true, do: halfSeen},
		{name: "foreign-name", about: "pods of somebody else have the names or labels that the controller would use", do: foreignName},
		{name: "storm", about: "lost answers, errors, delays, stalls, cuts, 410 and kills come and go at random during churn", runs: 3, short: true, do: storm},
	}
}
