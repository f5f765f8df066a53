package main

import "slices"

// judge is what has to catch a mutant.
type judge string

const (
	// byWorld: random worlds, which check what users were promised.
	byWorld judge = "world"
	// byUnit: the unit tests of the planner.
	byUnit judge = "unit"
)

// entry is a hand-written mutant, which breaks one promise.
type entry struct {
	name, about string
	by          judge
	// before is a text that occurs once in the file. The mutant has after in its place.
	file, before, after string
}

var table = slices.Concat(rolloutTable, leavingTable)

var rolloutTable = []entry{
	{
		name: "no-bake", about: "a revision is good as soon as enough pods are available", by: byWorld, file: "pkg/plan/rollout/proven.go",
		before: "bake := r.Manager.BakeTime() + r.jitter()",
		after:  "bake := 0 * r.jitter()",
	},
	{
		name: "proven-by-one", about: "one available pod proves a revision", by: byWorld, file: "pkg/plan/rollout/limits.go",
		before: "b.MinAvailable, max(1, b.MinAvailable), b.MinAvailable",
		after:  "b.MinAvailable, min(1, b.MinAvailable+1), b.MinAvailable",
	},
	{
		name: "proven-by-all", about: "a revision needs all its pods to become good", by: byUnit, file: "pkg/plan/rollout/limits.go",
		before: "b.MinAvailable, max(1, b.MinAvailable), b.MinAvailable",
		after:  "b.MinAvailable, max(1, b.Desired), b.MinAvailable",
	},
	{
		name: "good-while-failing", about: "failing pods do not keep a revision from becoming good", by: byUnit, file: "pkg/plan/rollout/proven.go",
		before: "case !r.isCarriedOut(), r.TooManyFail(),",
		after:  "case !r.isCarriedOut(),",
	},
	{
		name: "canary-is-good", about: "a canary that a partition holds becomes good", by: byUnit, file: "pkg/plan/rollout/proven.go",
		before: "r.DesiredUpdated() == r.Desired && !isLeft",
		after:  "!isLeft",
	},
	{
		name: "deferred-is-done", about: "a deferred resize counts as done", by: byUnit, file: "pkg/plan/rollout/proven.go",
		before: "!slices.ContainsFunc(r.UpdatedPods, inplace.IsUpdating)",
		after:  "(true || !slices.ContainsFunc(r.UpdatedPods, inplace.IsUpdating))",
	},
	{
		name: "bake-never-restarts", about: "the bake time goes on while pods are unavailable", by: byWorld, file: "pkg/plan/rollout/proven.go",
		before: "r.countAvailable(r.UpdatedPods) < r.MinAvailableToProve, r.Desired == 0:",
		after:  "r.countAvailable(r.UpdatedPods) < r.MinAvailableToProve && !r.hasRolloutRecord(), r.Desired == 0:",
	},
	{
		name: "first-release-forgotten", about: "no rollback returns to a first release that was superseded",
		by: byUnit, file: "pkg/plan/rollout/proven.go",
		before: "return r.Old != nil && r.Revisions.Current == nil",
		after:  "return false && r.Old != nil && r.Revisions.Current == nil",
	},
	{
		name: "crashing-first-release", about: "rollbacks return to a first release that crashes, and is ready for a moment", by: byWorld,
		file:   "pkg/plan/rollout/proven.go",
		before: "return failing < r.Manager.FailureThreshold()",
		after:  "return failing >= 0",
	},
	{
		name: "never-halts", about: "failing pods do not halt a rollout", by: byWorld, file: "pkg/plan/rollout/state.go",
		before: "len(r.OldPods)+len(r.MustMovePods) > 0) && r.TooManyFail()",
		after:  "len(r.OldPods)+len(r.MustMovePods) > 0) && r.failing() > 1000",
	},
	{
		name: "pause-hides-halt", about: "a paused PodManager is Ready although its revision has failed", by: byWorld, file: "pkg/plan/status/readiness.go",
		before: " && (rollout.Frozen != v1.ReasonPaused || rollout.Outdated() > 0)",
		after:  "",
	},
	{
		name: "halts-late", about: "one more pod than failureThreshold has to fail", by: byWorld, file: "pkg/plan/rollout/state.go",
		before: "len(r.OldPods)+len(r.MustMovePods) > 0) && r.TooManyFail()",
		after:  "len(r.OldPods)+len(r.MustMovePods) > 0) && r.TooManyFail() && r.failing() > r.Manager.FailureThreshold()",
	},
	{
		name: "halt-ends-with-its-pods", about: "a failure is forgotten with its pod", by: byUnit, file: "pkg/plan/rollout/records.go",
		before: "orphaned = append(orphaned, record)",
		after:  "_ = record",
	},
	{
		name: "ready-for-a-moment", about: "a pod that is ready for a moment has recovered", by: byUnit, file: "pkg/plan/rollout/failing.go",
		before: "return record.ReadySince.Add(r.recoveryTime()).Sub(r.Now)",
		after:  "return 0",
	},
	{
		name: "no-grace", about: "a failing pod has no time to recover", by: byWorld, file: "pkg/plan/rollout/failing.go",
		before: "return record.Since.Add(r.Manager.FailureGrace()).Sub(r.Now)",
		after:  "return record.Since.Sub(r.Now)",
	},
	{
		name: "endless-grace", about: "a failing pod has ten times its time to recover", by: byUnit, file: "pkg/plan/rollout/failing.go",
		before: "return record.Since.Add(r.Manager.FailureGrace()).Sub(r.Now)",
		after:  "return record.Since.Add(10 * r.Manager.FailureGrace()).Sub(r.Now)",
	},
	{
		name: "blames-disruptions", about: "what its node does to a pod counts against the revision",
		by: byWorld, file: "pkg/plan/podstate/disruption.go",
		before: "if isTarget {",
		after:  `if isTarget && reason != "" {`,
	},
	{
		name: "blames-reboots", about: "a node's reboot counts against the revision", by: byWorld, file: "pkg/plan/podstate/ending.go",
		before: "return slices.Contains(unseenEnds, ended.Reason) || restartRule",
		after:  "return restartRule",
	},
	{
		name: "excuses-evictions", about: "an eviction of a pod that exceeded its own limit is excused",
		by: byUnit, file: "pkg/plan/podstate/disruption.go",
		before: `"Preempting", "NodeLost",`,
		after:  `"Preempting", "NodeLost", "Evicted",`,
	},
	{
		name: "blames-expected-exits", about: "an exit that a restart rule expects counts against the revision",
		by: byUnit, file: "pkg/plan/podstate/ending.go",
		before: ` || restartRule(pod, status.Name, ended) != "" ||`,
		after:  " ||",
	},
	{
		name: "rolls-back-for-room", about: "a revision whose pods have no room is rolled back", by: byUnit, file: "pkg/plan/rollout/deadline.go",
		before: `return pod.Spec.NodeName != "" && !health.IsCutOff(pod)`,
		after:  "return !health.IsCutOff(pod)",
	},
	{
		name: "rolls-back-for-node", about: "a revision whose pod has lost its node is rolled back", by: byUnit, file: "pkg/plan/rollout/failing.go",
		before: "	case isOutOfReach(pod):",
		after:  "	case false:",
	},
	{
		name: "condemned-by-eviction", about: "an evicted pod's replacement has no time to become ready", by: byUnit, file: "pkg/plan/rollout/records.go",
		before: "record.ReadySince, record.Since = nil, *WholeSecond(r.Now)",
		after:  "record.ReadySince = nil",
	},
	{
		name: "drain-loses-progress", about: "the deadline passes during a drain", by: byUnit, file: "pkg/plan/rollout/deadline.go",
		before: "available += min(max(0, int(next.MostAvailable)-available), r.countAvailable(r.leavingFrom(newSide)))",
		after:  "available += 0",
	},
	{
		name: "replaced-twice", about: "a failed pod whose replacement has failed, too, counts again", by: byUnit, file: "pkg/plan/health/backoff.go",
		before: "range slices.Concat(active, finished) {",
		after:  "range active {",
	},
	{
		name: "deadline-ten-times", about: "the deadline is ten times as long", by: byUnit, file: "pkg/plan/rollout/deadline.go",
		before: "next, due, deadline := p.Record, r.DesiredUpdated(), r.Manager.ProgressDeadline()",
		after:  "next, due, deadline := p.Record, r.DesiredUpdated(), 10*r.Manager.ProgressDeadline()",
	},
	{
		name: "deadline-keeps-outages", about: "an outage that is over still counts towards the deadline",
		by: byUnit, file: "pkg/plan/rollout/deadline.go",
		before: "|| available >= due || !r.waitsForUpdated(available) {",
		after:  "{",
	},
	{
		name: "deadline-for-other-minReady", about: "raising minReadySeconds does not start the deadline anew",
		by: byUnit, file: "pkg/plan/rollout/deadline.go",
		before: "r.missedTemplateChange() || next.MinReadySeconds != r.Manager.Spec.MinReadySeconds {",
		after:  "r.missedTemplateChange() {",
	},
	{
		name: "never-rolls-back", about: "onFailure Rollback only halts", by: byWorld, file: "pkg/plan/rollout/deadline.go",
		before: "case r.mayRollBack() && r.isRolling()",
		after:  "case r.mayRollBack() && !r.isRolling()",
	},
	{
		name: "rolls-back-while-paused", about: "a paused rollout is rolled back", by: byUnit, file: "pkg/plan/rollout/proven.go",
		before: "r.Manager.OnFailure() == v1.RollbackOnFailure && !r.Manager.Spec.Paused &&",
		after:  "r.Manager.OnFailure() == v1.RollbackOnFailure &&",
	},
	{
		name: "released-again", about: "a lost status releases a failed revision again", by: byUnit, file: "pkg/plan/rollout/state.go",
		before: " || r.mayRollBack() && r.Revisions.IsMarkedFailed()",
		after:  "",
	},
	{
		name: "healed-from-failed", about: "missing pods of the old side are created from a revision that has failed",
		by: byUnit, file: "pkg/plan/rollout/state.go",
		before: "revision == r.Revisions.Update || revision.HasFailed() ||",
		after:  "revision == r.Revisions.Update ||",
	},
	{
		name: "healed-from-oldest", about: "missing pods of the old side are created from the oldest revision that has pods, not the newest",
		by: byWorld, file: "pkg/plan/rollout/state.go",
		before: "revision.Number() > newest.Number() {",
		after:  "revision.Number() < newest.Number() {",
	},
	{
		name: "stale-baseline", about: "missing pods of the old side are created from the current revision, even if others have pods",
		by: byWorld, file: "pkg/plan/rollout/state.go",
		before: "return cmp.Or(newest, r.Revisions.Current)",
		after:  "return cmp.Or(r.Revisions.Current, newest)",
	},
	{
		name: "pause-moves", about: "a pause does not stop a rollout", by: byWorld, file: "pkg/plan/rollout/state.go",
		before: `	case r.Manager.Spec.Paused:
		return v1.ReasonPaused
`,
		after: `	case r.Manager.Spec.Paused:
		return ""
`,
	},
	{
		name: "on-delete-moves", about: "OnDelete moves pods", by: byWorld, file: "pkg/plan/rollout/state.go",
		before: `	case r.Manager.Strategy() == v1.OnDeleteStrategy:
		return v1.ReasonUpdateOnDelete
`,
		after: `	case r.Manager.Strategy() == v1.OnDeleteStrategy:
		return ""
`,
	},
	{
		name: "partition-ignored", about: "a partition holds nothing back", by: byUnit, file: "pkg/plan/rollout/state.go",
		before: `	if r.isGood() {
		partition = 0
	}
`,
		after: `	partition = 0
`,
	},
	{
		name: "surge-exceeded", about: "one pod more than maxSurge", by: byWorld, file: "pkg/plan/rollout/budget.go",
		before: `	return m.MaxSurge
}

// keepsSurge`,
		after: `	return m.MaxSurge + 1
}

// keepsSurge`,
	},
	{
		name: "unavailable-exceeded", about: "one pod more than maxUnavailable is taken down", by: byWorld, file: "pkg/plan/rollout/budget.go",
		before: "return len(m.available)-len(m.mayRestart) > m.MinAvailable",
		after:  "return len(m.available)-len(m.mayRestart) >= m.MinAvailable",
	},
	{
		name: "unavailable-ignored", about: "maxUnavailable is ignored", by: byWorld, file: "pkg/plan/rollout/limits.go",
		before: "b.MinAvailable = b.Desired - b.MaxUnavailable",
		after:  "b.MinAvailable = 0 * b.MaxUnavailable",
	},
	{
		name: "quota-ignored", about: "a bad revision replaces missing pods without bound", by: byWorld, file: "pkg/plan/rollout/budget.go",
		before: `	return max(0, quota)
}

// protectsOld`,
		after: `	return max(m.Desired, quota)
}

// protectsOld`,
	},
	{
		name: "maxTerminating-ignored", about: "maxTerminating is ignored", by: byUnit, file: "pkg/plan/rollout/budget.go",
		before: "limit = max(1, scaled)",
		after:  "limit += max(1, scaled)",
	},
	{
		name: "terminating-ignored", about: "TerminationComplete does not wait", by: byWorld, file: "pkg/plan/rollout/budget.go",
		before: `	if !m.waitForTermination {
		return 0
	}
`,
		after: `	if m.waitForTermination {
		return 0
	}
`,
	},
	{
		name: "recreate-overlaps", about: "Recreate does not wait until the old pods are gone", by: byWorld, file: "pkg/plan/rollout/actions.go",
		before: "|| slices.ContainsFunc(terminating, overlaps) ||",
		after:  "||",
	},
	{
		name: "marked-at-once", about: "marked pods are deleted however few pods are available", by: byWorld, file: "pkg/plan/rollout/actions.go",
		before: " && (!m.available[pod] || len(m.available) > m.MinAvailableForMarked)",
		after:  "",
	},
	{
		name: "no-backoff", about: "a failed pod is replaced at once, again and again", by: byUnit, file: "pkg/plan/health/backoff.go",
		before: `	wait := firstBackOff
	for range failures - 2 {
`,
		after: `	wait := 0 * firstBackOff
	for range failures - 2 {
`,
	},
	{
		name: "available-at-once", about: "minReadySeconds are ignored", by: byWorld, file: "pkg/plan/health/availability.go",
		before: "if minReady == 0 {",
		after:  "if minReady >= 0 {",
	},
	{
		name: "available-while-updating", about: "a pod that is being updated in place is available",
		by: byWorld, file: "pkg/plan/health/availability.go",
		before: "(!inplace.IsUpdating(pod) || inplace.IsResizeStuck(pod)) &&",
		after:  "",
	},
	{
		name: "node-clock", about: "a node's clock says since when a pod has been ready", by: byWorld, file: "pkg/plan/podstate/clock.go",
		before: "if written, known := ReadyWritten(pod); known && reported.After(written) {",
		after:  "if written, known := ReadyWritten(pod); !known && reported.After(written) {",
	},
	{
		name: "history-unlimited", about: "revisionHistoryLimit is ignored", by: byUnit, file: "pkg/plan/history/store.go",
		before: "return unused[:max(0, len(unused)-r.sources.Manager.RevisionsKept())]",
		after:  "return unused[:0*r.sources.Manager.RevisionsKept()]",
	},
	{
		name: "drops-used", about: "revisions that pods still have are deleted", by: byUnit, file: "pkg/plan/history/store.go",
		before: "used[pod.Labels[v1.LabelRevision]] = true",
		after:  "used[pod.Name] = true",
	},
	{
		name: "failed-unmarked", about: "a revision that has failed gets no mark", by: byUnit, file: "pkg/plan/history/store.go",
		before: "case !isMarked && hasFailed && revision == r.Update:",
		after:  "\tcase isMarked && hasFailed && revision == r.Update:",
	},
	{
		name: "in-place-by-hand", about: "a pod that the PodManager did not create is updated in place",
		by: byUnit, file: "pkg/plan/rollout/obstacle.go",
		before: "if podstate.IsUnmanaged(pod) {",
		after:  "if podstate.IsUnmanaged(pod) && false {",
	},
	{
		name: "undrained", about: "an update in place does not wait until the pod has left its Services",
		by: byWorld, file: "pkg/plan/inplace/update.go",
		before: `if step, wait := means.drainStep(manager, u.Pod, now); step != "" || wait > 0 {`,
		after:  "if step, wait := means.drainStep(manager, u.Pod, now); step == StepOpen && wait > 0 {",
	},
	{
		name: "image-with-resize", about: "an image changes before its pod is resized", by: byWorld, file: "pkg/plan/inplace/update.go",
		before: `		if u.HasToResize(u.Pod, diff) {
			return StepResize, 0
		}
`,
		after: "",
	},
	{
		name: "policy-keeps-halt", about: "a halt outlasts a change of the failure policy", by: byUnit, file: "pkg/plan/rollout/policy.go",
		before: `return judgedBy != "" && judgedBy`,
		after:  `return judgedBy == "-" && judgedBy`,
	},
	{
		name: "replaces-nothing", about: "a replacement does not say which pods it replaces", by: byWorld, file: "pkg/plan/health/backoff.go",
		before: "if len(texts) > 0 {",
		after:  "if len(texts) > 1<<10 {",
	},
	{
		name: "startup-believed", about: "a kubelet's early report that a container has started is believed",
		by: byWorld, file: "pkg/plan/inplace/progress.go",
		before: "started.Add(period+startupLag).Sub(now)",
		after:  "0*started.Add(period+startupLag).Sub(now)",
	},
	{
		name: "rolls-back-late", about: "a rollback comes ten seconds late", by: byWorld, file: "pkg/plan/rollout/failing.go",
		before: "return record.Since.Add(r.Manager.FailureGrace()).Sub(r.Now)",
		after:  "return record.Since.Add(r.Manager.FailureGrace() + 10*time.Second).Sub(r.Now)",
	},
	{
		name: "names-one", about: "the status names only one failing pod", by: byWorld, file: "pkg/plan/rollout/records.go",
		before: "return judged[:min(len(judged), maxFailingPods)]",
		after:  "return judged[:min(len(judged), maxFailingPods/100)]",
	},
}
