package scenarios

import (
	"time"

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// scene is an arena with what scenarios do there: only they need it, so that it is no part of the arena.
type scene struct{ *arena.Arena }

// in lets a scenario play in an arena.
func in(play func(a scene)) func(*arena.Arena) {
	return func(a *arena.Arena) { play(scene{a}) }
}

// branch is another arena of the same run.
func (a scene) branch(part string) scene { return scene{a.Branch(part)} }

// All are all scenarios, in the order of the table.
func All() []arena.Scenario {
	all := []arena.Scenario{
		{Name: "churn", About: "objects and pods come, change and go at random; the controller is killed every second or so",
			Runs: 3, Short: true, Do: in(churnWithKills)},
		{Name: "crash", About: "the controller is killed before and after every single write of create, scale, update and delete",
			Short: true, Limit: 10 * time.Minute, Do: in(crashAtEveryWrite)},
		{Name: "ambiguous-create", About: "the answers to 30 % of all creates are lost, while the watch lags",
			Runs: 2, Short: true, Do: in(ambiguousCreate)},
		{Name: "split-brain", About: "leaders are stopped past their lease, in the middle of work, and wake up beside their successors",
			Runs: 5, Short: true, Do: in(splitBrain)},
		{Name: "standby", About: "a standby sees 20 000 events about pods, then the leader is stopped; its memory does not grow, and it takes over at once",
			Short: true, OursOnly: true, Do: in(standby)},
		{Name: "shards", About: "replicas that share the work are killed, stopped, cut off, replaced, robbed of shards, and their clocks set, during churn and with lost answers",
			Runs: 3, Short: true, OursOnly: true, Limit: 10 * time.Minute, Do: in(shardsUnderFaults)},
		{Name: "api-server-killed", About: "the API server is killed in the middle of churn",
			Runs: 4, Short: true, Alone: true, Do: in(func(a scene) { killComponent(a, lab.APIServer, arena.APIServerKills) })},
		{Name: "etcd-killed", About: "etcd is killed in the middle of churn",
			Runs: 4, Alone: true, Do: in(func(a scene) { killComponent(a, lab.Etcd, arena.EtcdKills) })},
	}
	all = append(all, ruleScenarios()...)
	all = append(all, networkScenarios()...)
	return all
}

// ruleScenarios are about refusals, deletions, and objects that should not exist.
func ruleScenarios() []arena.Scenario {
	return []arena.Scenario{
		{Name: "quota", About: "a quota admits only a few of many pods, and is lifted after 10 s",
			Short: true, Do: in(quota)},
		{Name: "admission", About: "Pod Security, then an admission policy refuses all pods, and is lifted after 10 s", Do: in(admission)},
		{Name: "refused-then-allowed", About: "a policy refuses pod deletes, revisions, readiness gates or updates in place for 15 s; everything must be done a minute later",
			Short: true, Do: in(refusedThenAllowed)},
		{Name: "webhook", About: "the webhook that the API server asks about PodManagers is dead, hangs, answers garbage, or its certificate has ended",
			OursOnly: true, Do: in(webhookBreaks)},
		{Name: "conversion", About: "the webhook that converts between v1 and v1alpha1 is dead, hangs, answers garbage, or its certificate has ended",
			Alone: true, OursOnly: true, Limit: 10 * time.Minute, Do: in(conversionBreaks)},
		{Name: "failing-pods", About: "every pod fails as soon as it is ready, for a minute", Do: in(failingPods)},
		{Name: "node-did-it", About: "nodes evict and reject pods in the middle of a rollout; the revision must not be blamed", Short: true, OursOnly: true, Do: in(nodeDidIt)},
		{Name: "all-marked", About: "every pod is marked for deletion at once; enough must stay available", Short: true, OursOnly: true, Do: in(allMarked)},
		{Name: "namespace-terminating", About: "the namespace is deleted in the middle of a scale-up", Short: true, Do: in(namespaceTerminating)},
		{Name: "finalizer", About: "the controller is killed before and after every write of a deletion: foreground, background and orphan",
			Short: true, Limit: 10 * time.Minute, Do: in(deletionWithCrashes)},
		{Name: "orphan-apart", About: "the owner is deleted without its pods while the controller sees the owner, and not the pods",
			Short: true, Do: in(orphanApart)},
		{Name: "collector-away", About: "an owner is deleted and another gets its name while no garbage collector runs",
			Alone: true, OursOnly: true, Do: in(collectorAway)},
		{Name: "etcd-restore", About: "etcd is restored from a backup, so that versions go back and are used again",
			Alone: true, Do: in(etcdRestore)},
		{Name: "etcd-restore-hidden", About: "the same, but the versions are caught up before the controller looks; its Lease tells",
			Alone: true, OursOnly: true, Do: in(hiddenRestore)},
		{Name: "poison", About: "objects that cannot be decoded, and valid objects with extreme values, beside others that must be served as before",
			Alone: true, OursOnly: true, Do: in(poison)},
		{Name: "every-field", About: "every field of the spec gets valid and invalid values; after each the first spec is restored",
			OursOnly: true, Do: in(everyField)},
	}
}

// networkScenarios are faults between a controller and the API server.
func networkScenarios() []arena.Scenario {
	return []arena.Scenario{
		{Name: "stale-cache", About: "the watch of pods stalls for longer than the controller ever waits, during churn", Do: in(staleCache)},
		{Name: "unobserved-change", About: "replicas, image and labels change and change back while watches are stalled, and the events are lost", Do: in(unobservedChange)},
		{Name: "missed-delete", About: "pods are deleted while the watch is stalled or refused; they must be replaced 5 s after the watch is back", Do: in(missedDelete)},
		{Name: "watch-gone", About: "watches are cut, and watches and lists are answered 410 for a while, during churn", Do: in(watchGone)},
		{Name: "server-errors", About: "30 % of the writes are answered 429, 500, 503 or 504 or delayed by seconds, during churn", Short: true, Do: in(serverErrors)},
		{Name: "conflict-storm", About: "others write to the object 50 times a second while it is scaled", Do: in(conflictStorm)},
		{Name: "black-hole", About: "connections go dead without breaking in the middle of work; the controller must go on within 60 s", Do: in(blackHole)},
		{Name: "uid-reuse", About: "the object is deleted by force and created again under its name while watches are stalled or the controller is down",
			Short: true, Do: in(uidReuse)},
		{Name: "half-seen", About: "the watch of the owner, then the watch of pods stalls during a scale-up, after some of its pods were seen; names become free meanwhile",
			Runs: 2, Short: true, Do: in(halfSeen)},
		{Name: "foreign-name", About: "pods of somebody else have the names or labels that the controller would use", Do: in(foreignName)},
		{Name: "storm", About: "lost answers, errors, delays, stalls, cuts, 410 and kills come and go at random during churn", Runs: 3, Short: true, Do: in(storm)},
	}
}
