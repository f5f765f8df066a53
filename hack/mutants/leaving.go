package main

// leavingTable has mutants of the decisions about pods on drained and lost nodes, and about pods that are too old.
var leavingTable = []entry{
	{
		name: "leaving-counts", about: "a pod that is leaving counts as one that serves", by: byWorld, file: "pkg/plan/leaving.go",
		before: "o.Capabilities, found.Stay, finished,",
		after:  "o.Capabilities, active, finished,",
	},
	{
		name: "never-replaced", about: "pods of drained nodes get no replacement", by: byUnit, file: "pkg/plan/leaving/leaving.go",
		before: `case rules.OnDrain == v1.ReplaceDrain && node.Draining != "":`,
		after:  `case rules.OnDrain == v1.ReplaceDrain && node.Draining == "never":`,
	},
	{
		name: "lost-unnoticed", about: "a lost node's pods count until another event arrives", by: byWorld, file: "pkg/plan/leaving/leaving.go",
		before: "found.Again = requeue.Sooner(found.Again, wait)",
		after:  "found.Again = requeue.Sooner(found.Again, 0*wait)",
	},
	{
		name: "replaced-at-once", about: "all drained pods get their replacements at once", by: byWorld, file: "pkg/plan/leaving/leaving.go",
		before: "mayCreate := max(0, max(1, manager.MaxSurge())-min(unavailable, extra))",
		after:  "mayCreate := max(len(drained), max(1, manager.MaxSurge())-min(unavailable, extra))",
	},
	{
		name: "drained-zero", about: "with zero replicas, pods on drained nodes are not deleted", by: byUnit, file: "pkg/plan/leaving/leaving.go",
		before: " || manager.DesiredReplicas() == 0 {",
		after:  " || manager.DesiredReplicas() < 0 {",
	},
	{
		name: "replaced-never-two", about: "Recreate and TerminationComplete run a replacement beside a drained pod",
		by: byWorld, file: "pkg/plan/leaving/leaving.go",
		before: "if manager.Strategy() == v1.RecreateStrategy || manager.Spec.PodReplacementPolicy == v1.TerminationComplete {",
		after:  "if manager.Strategy() == v1.RecreateStrategy && manager.Spec.PodReplacementPolicy == v1.TerminationComplete {",
	},
	{
		name: "superseded-early", about: "a leaving pod of an old revision is deleted before its replacement is available",
		by: byWorld, file: "pkg/plan/leaving.go",
		before: "if len(p.uncovered) == 0 {",
		after:  "if len(p.uncovered) >= 0 {",
	},
	{
		name: "superseded-stays", about: "a leaving pod of an old revision outlives the rollout", by: byUnit, file: "pkg/plan/leaving.go",
		before: "if len(p.uncovered) == 0 {",
		after:  "if len(p.uncovered) < 0 {",
	},
	{
		name: "replaced-by-other", about: "a replacement does not get the revision of the pod that leaves",
		by: byUnit, file: "pkg/plan/rollout/state.go",
		before: "range slices.Concat(r.pods, r.leaving) {",
		after:  "range slices.Concat(r.pods, r.leaving[:0]) {",
	},
	{
		name: "age-before-replacement", about: "a pod that is too old is deleted before its replacement is available",
		by: byWorld, file: "pkg/plan/leaving/age.go",
		before: "if f.available(manager, now) < desired {",
		after:  "if f.available(manager, now) < desired-1 {",
	},
	{
		name: "age-in-a-rollout", about: "pods are replaced for their age during a rollout, a halt and a pause",
		by: byUnit, file: "pkg/plan/leaving.go",
		before: "if r.IsAtRest() {",
		after:  "if r != nil {",
	},
	{
		name: "age-youngest-first", about: "the youngest of the pods that are too old goes first", by: byWorld, file: "pkg/plan/leaving/age.go",
		before: "pod.CreationTimestamp.Before(&found.CreationTimestamp) ||",
		after:  "found.CreationTimestamp.Before(&pod.CreationTimestamp) ||",
	},
	{
		name: "age-never", about: "a pod that is too old never gets a replacement", by: byWorld, file: "pkg/plan/leaving/age.go",
		before: "case others.available(manager, now) < desired-1, slices",
		after:  "case others.available(manager, now) < desired, slices",
	},
	{
		name: "age-endless", about: "a pod that leaves for its age counts again while a rollout has not come to rest", by: byUnit,
		file:   "pkg/plan/leaving/leaving.go",
		before: "found.goOnRenewing(manager, before, now)",
		after:  "found.goOnRenewing(manager, leavingBefore{}, now)",
	},
	{
		name: "lost-twice", about: "the replacements on a second lost node are not replaced", by: byUnit, file: "pkg/plan/leaving/bound.go",
		before: "if pod.Cause == Lost && pod.Status.StartTime != nil {",
		after:  "if pod.Cause == Drained && pod.Status.StartTime != nil {",
	},
	{
		name: "forced-early", about: "a terminating pod of a lost node is deleted by force at once", by: byUnit, file: "pkg/plan/leaving/force.go",
		before: "since.Add(after).Sub(now); until > 0",
		after:  "since.Add(0 * after).Sub(now); until > 0",
	},
	{
		name: "forced-alive", about: "a terminating pod is deleted by force although its node is there",
		by: byWorld, file: "pkg/plan/leaving/force.go",
		before: "if since.IsZero() || grace != nil && *grace == 0 {",
		after:  "if grace != nil && *grace == 0 {",
	},
}
