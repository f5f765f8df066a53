package rollout_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

func TestPartition(t *testing.T) {
	one := Limits("0", "1")
	tests := map[string]struct {
		observed plan.Observed
		want     string
		why      rollout.Why
	}{
		"so many pods stay on the old revision": {
			observed: RollingOut(Next(3, one, Partition("2")), Pod(0), Pod(1), Pod(2, V2)),
		},
		"only pods above the partition are updated": {
			observed: RollingOut(Next(3, Limits("0", "100%"), Partition("2")), Pods3()...),
			want:     "+3 new, -2", why: rollout.WhyOutdated,
		},
		"a percentage is rounded down": {
			observed: RollingOut(Next(3, Limits("0", "100%"), Partition("99%")), Pods3()...),
			want:     "+3 new, -2", why: rollout.WhyOutdated,
		},
		"100% updates no pod": {
			observed: RollingOut(Next(3, one, Partition("100%")), Pods3()...),
		},
		"more than replicas updates no pod": {
			observed: RollingOut(Next(3, one, Partition("9")), Pods3()...),
		},
		"a lower partition updates more pods": {
			observed: RollingOut(Next(3, one, Partition("1")), Pod(0), Pod(1), Pod(2, V2)),
			want:     "+3 new, -1", why: rollout.WhyOutdated,
		},
		"a higher partition moves pods back within maxUnavailable": {
			observed: RollingOut(Next(4, one, Partition("3")), Pod(0), Pod(1, V2), Pod(2, V2), Pod(3, V2)),
			want:     "+4 old, -3", why: rollout.WhyMovedBack,
		},
		"a higher partition moves pods back with maxSurge": {
			observed: RollingOut(Next(3, Limits("1", "0"), Partition("3")), Pod(0), Pod(1), Pod(2, V2)),
			want:     "+3 old",
		},
		"a lost old pod comes back old": {
			observed: RollingOut(Next(3, one, Partition("2")), Pod(0), Pod(2, V2)),
			want:     "+1 old",
		},
		"a lost new pod comes back new": {
			observed: RollingOut(Next(3, one, Partition("2")), Pod(0), Pod(1)),
			want:     "+2 new",
		},
		"scaling up keeps the number of old pods": {
			observed: RollingOut(Next(5, one, Partition("2")), Pod(0), Pod(1), Pod(2, V2)),
			want:     "+3 old, +4 new",
		},
		"a complete rollout ignores the partition": {
			observed: Observe(Manager(3, Partition("2")), Pods3()...),
		},
		"pods of another revision are updated": {
			observed: RollingOut(Next(3, one, Partition("1")), Pod(0), Pod(1, OfImage("v1.5")), Pod(2, V2)),
			want:     "+3 new, -1", why: rollout.WhyOutdated,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			decided := plan.Make(test.observed)
			if got := ActionsOf(decided); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			for _, d := range decided.Delete {
				if d.Why != test.why {
					t.Errorf("%s deleted because %q, want %q", d.Pod.Name, d.Why, test.why)
				}
			}
		})
	}
}

// replicasBefore records the replicas before the rollout was paused.
func replicasBefore(replicas int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		m.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(m).Name, Replicas: replicas}
	}
}

// A PodManager that is paused from the start, with zero replicas, creates no pods when it is scaled up.
func TestPausedAtZero(t *testing.T) {
	o := With(Observe(Manager(0, Paused)), func(o *plan.Observed) { o.Manager.Status = v1.PodManagerStatus{} })
	told, _ := status.Compute(Planned(o))
	o.Manager = Manager(3, Paused)
	o.Manager.Status = told
	if got := ActionsOf(plan.Make(o)); got != "" {
		t.Errorf("plans %q", got)
	}
}

func TestPaused(t *testing.T) {
	lost := func(o *plan.Observed) { o.Manager.Status.UpdatedReplicas = 1 }
	fresh := func(o *plan.Observed) { o.Manager.Status = v1.PodManagerStatus{} }
	tests := map[string]struct {
		observed plan.Observed
		want     string
	}{
		"no pod is updated": {
			observed: RollingOut(Next(3, Paused), Pods3()...),
		},
		"half way no further pod is updated": {
			observed: RollingOut(Next(3, Paused, replicasBefore(3)), Pod(0), Pod(1), Pod(2), Pod(3, V2)),
		},
		"a lost old pod comes back old": {
			observed: RollingOut(Next(3, Paused), Pod(0), Pod(1, V2)),
			want:     "+2 old",
		},
		"a lost new pod comes back new, as far as the status remembers": {
			observed: With(RollingOut(Next(3, Paused), Pod(0), Pod(1)), lost),
			want:     "+2 new",
		},
		"scaling up creates old pods": {
			observed: RollingOut(Next(5, Paused), Pod(0), Pod(1), Pod(2, V2)),
			want:     "+3 old, +4 old",
		},
		"scaling down deletes the least useful pod of any revision": {
			observed: RollingOut(Next(2, Paused, Limits("0", "1")), Pod(0), Pod(1, V2, NotReady), Pod(2, V2)),
			want:     "-1",
		},
		"half way the surge pod stays": {
			observed: RollingOut(Next(2, Paused, Limits("1", "0"), replicasBefore(2)), Pod(0), Pod(1, V2, NotReady), Pod(2, V2)),
		},
		"scaling down deletes the surge pod": {
			observed: RollingOut(Next(2, Paused, Limits("1", "0"), replicasBefore(3)), Pod(0), Pod(1, V2, NotReady), Pod(2, V2)),
			want:     "-1",
		},
		"scaling down keeps the proportion of the revisions": {
			observed: RollingOut(Next(3, Paused, Limits("5", "0"), replicasBefore(4)), Pod(0), Pod(1), Pod(2, V2), Pod(3, V2), Pod(4, V2), Pod(5, V2)),
			want:     "-5, -4, -1",
		},
		"scaling to zero deletes surge pods as well": {
			observed: RollingOut(Next(0, Paused, Limits("5", "0")), Pod(0), Pod(1, V2)),
			want:     "-1, -0",
		},
		"scaling to zero beside a finished pod": {
			observed: RollingOut(Next(0, Paused, Limits("5", "0")), Pod(0), Pod(1, V2), FailedPod(2, time.Second, 0, V2)),
			want:     "-1, -0",
		},
		"a failed pod is replaced by one of the same revision": {
			observed: RollingOut(Next(2, Paused), Pod(0), FailedPod(1, time.Second, 0)),
			want:     "+2 old",
		},
		"an evicted new pod is replaced by one of the same revision, also if the status does not know it": {
			observed: With(RollingOut(Next(3, Paused), Pod(0), Pod(1), FailedPod(2, time.Second, 0, V2, Evicted)), func(o *plan.Observed) { o.Manager.Status.UpdatedReplicas = 0 }),
			want:     "+3 new",
		},
		"an old pod leaves, and a new one that has been replaced: whatever the status knows, the replacement is old": {
			observed: With(RollingOut(Next(3, Paused, Limits("0", "1"), replacesDrained), Pod(0), Pod(1), Pod(2, V2), Pod(3, V2)), cordoned("node-0", "node-2"),
				func(o *plan.Observed) { o.Manager.Status.UpdatedReplicas = 0 }),
			want: "+4 old",
		},
		"a new PodManager creates no pod": {
			observed: With(Observe(Manager(3, Paused)), fresh),
		},
		"a new PodManager that has adopted some pods creates no others: they may be handed over next": {
			observed: With(Observe(Manager(3, Paused), Pod(0, Unlabelled), Pod(1, Unlabelled)), fresh, func(o *plan.Observed) { o.Manager.Status.Replicas = 1 }),
		},
		"a new PodManager adopts without a pause: the others are created": {
			observed: With(Observe(Manager(3), Pod(0, Unlabelled)), fresh),
			want:     "+1 new, +2 new",
		},
		"a PodManager that had all pods by adoption replaces those that it loses": {
			observed: With(Observe(Manager(3, Paused), Pod(0, Unlabelled), Pod(1, Unlabelled)), fresh, func(o *plan.Observed) { replicasBefore(3)(o.Manager) }),
			want:     "+2 new",
		},
		"a new PodManager with more adopted pods than wanted scales down": {
			observed: With(Observe(Manager(1, Paused), Pod(0, Unlabelled), Pod(1, Unlabelled)), fresh),
			want:     "-1",
		},
		"a PodManager with one pod creates the others": {
			observed: With(Observe(Manager(3, Paused), Pod(0)), fresh),
			want:     "+1 new, +2 new",
		},
		"a PodManager that has lost all pods creates them": {
			observed: With(Observe(Manager(2, Paused)), fresh, func(o *plan.Observed) { o.Manager.Status.Replicas = 2 }),
			want:     "+0 new, +1 new",
		},
		"a new PodManager that has lost all pods it has adopted creates none: the others may be handed over next": {
			observed: With(Observe(Manager(3, Paused)), fresh, func(o *plan.Observed) { o.Manager.Status.Replicas = 2 }),
		},
		"a new PodManager whose adopted pods all leave creates none": {
			observed: With(Observe(Manager(3, Paused, replacesLost), Pod(0, Unlabelled)), fresh, lostNodes("node-0"), func(o *plan.Observed) { o.Manager.Status.Replicas = 1 }),
		},
		"a new PodManager one of whose adopted pods leaves creates none": {
			observed: With(Observe(Manager(4, Paused, replacesDrained), Pod(0, Unlabelled), Pod(1, Unlabelled), Pod(2, Unlabelled)), fresh, cordoned("node-0")),
		},
		"a PodManager that has created pods replaces them when they leave": {
			observed: With(Observe(Manager(3, Paused, replacesLost), Pod(0)), fresh, lostNodes("node-0"), func(o *plan.Observed) { o.Manager.Status.Replicas = 1 }),
			want:     "+1 new, +2 new, +3 new",
		},
		"a PodManager that had all pods by adoption, and has yet to say so, replaces the one that leaves": {
			observed: With(Observe(Manager(2, Paused, replacesDrained), Pod(0, Unlabelled), Pod(1, Unlabelled)), fresh, cordoned("node-0")),
			want:     "+2 new",
		},
		"a PodManager that had all pods by adoption replaces those that leave": {
			observed: With(Observe(Manager(2, Paused, replacesDrained), Pod(0, Unlabelled), Pod(1, Unlabelled)), fresh, cordoned("node-0"),
				func(o *plan.Observed) { replicasBefore(2)(o.Manager) }),
			want: "+2 new",
		},
		"a PodManager with a rollout record and no pods creates them": {
			observed: With(Observe(Manager(2, Paused, Rolled(2, 0, 0))), func(o *plan.Observed) { o.Manager.Status.CurrentRevision = "" }),
			want:     "+0 new, +1 new",
		},
		"without an update a lost pod is replaced": {
			observed: Observe(Manager(3, Paused), Pod(0), Pod(1)),
			want:     "+2 new",
		},
		"the readiness gate of a drained pod is opened": {
			observed: RollingOut(Next(1, Paused, InPlace(v1.InPlaceOnly, 10)), Pod(0, Gated(corev1.ConditionFalse, time.Second))),
			want:     "Open 0",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ActionsOf(plan.Make(test.observed)); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestHalted(t *testing.T) {
	one, rolledBack := Limits("0", "1"), func(m *v1.PodManager) { m.Status.FailedRevision = RevisionFor(m).Name }
	rollback := OnFailure(v1.RollbackOnFailure)
	tests := map[string]struct {
		observed plan.Observed
		want     string
	}{
		"a failing pod halts the rollout": {
			observed: RollingOut(Next(3, Limits("1", "1")), Pod(0), Pod(1), Pod(2, V2, Crashing)),
		},
		"onFailure Continue: no halt": {
			observed: RollingOut(Next(3, Limits("1", "1"), OnFailure(v1.ContinueOnFailure)), Pod(0), Pod(1), Pod(2, V2, Crashing)),
			want:     "+3 new",
		},
		"failureThreshold is not reached: no halt": {
			observed: RollingOut(Next(3, Limits("1", "1"), MaxFailed("2")), Pod(0), Pod(1), Pod(2, V2, Crashing)),
			want:     "+3 new",
		},
		"failureThreshold as a percentage is not reached: no halt": {
			observed: RollingOut(Next(4, Limits("1", "1"), MaxFailed("50%")), Pod(0), Pod(1), Pod(2), Pod(3, V2, Crashing)),
			want:     "+4 new",
		},
		"failureThreshold as a percentage is rounded down": {
			observed: RollingOut(Next(3, Limits("1", "1"), MaxFailed("66%")), Pod(0), Pod(1), Pod(2, V2, Crashing)),
		},
		"missing pods are created from the old revision": {
			observed: RollingOut(Next(4, Limits("1", "1")), Pod(0), Pod(1), Pod(2, V2, Crashing)),
			want:     "+3 old",
		},
		"a failed new pod is replaced by a new one": {
			observed: RollingOut(Next(3, one, Rolled(0, 0, 0), recorded("web-2")), Pod(0), Pod(1), FailedPod(2, time.Second, 0, V2)),
			want:     "+3 new",
		},
		"a failed new surge pod is replaced by a new one": {
			observed: RollingOut(Next(3, Limits("1", "0"), Rolled(0, 0, 0), recorded("web-3")), Pod(0), Pod(1), Pod(2), FailedPod(3, time.Second, 0, V2)),
			want:     "+4 new",
		},
		"an old pod that fails halts nothing": {
			observed: RollingOut(Next(3, one), Pod(0), Pod(1), Pod(2, Crashing)),
			want:     "+3 new, -2",
		},
		"raising the partition is the way back": {
			observed: RollingOut(Next(3, one, Partition("100%")), Pod(0), Pod(1), Pod(2, V2, Crashing)),
			want:     "+3 old, -2",
		},
		"bad pods of a third template are old ones, too: a halt moves none": {
			observed: RollingOut(Next(3, Limits("1", "0"), Partition("2")), Pod(0), Pod(1, OfImage("v1.5"), Crashing), Pod(2, OfImage("v1.5"), Crashing), Pod(3, V2, Crashing)),
		},
		"rolled back: all pods return to the last good revision": {
			observed: RollingOut(Next(3, Limits("0", "100%"), rollback, rolledBack), Pod(0), Pod(1, V2), Pod(2, V2, Crashing)),
			want:     "+3 old, +4 old, -2, -1",
		},
		"rolled back: within maxUnavailable": {
			observed: RollingOut(Next(3, one, rollback, rolledBack), Pod(0), Pod(1, V2), Pod(2, V2)),
			want:     "+3 old, -2",
		},
		"rolled back: the partition does not matter": {
			observed: RollingOut(Next(3, one, rollback, rolledBack, Partition("1")), Pod(0), Pod(1, V2), Pod(2, V2, Crashing)),
			want:     "+3 old, -2",
		},
		"onFailure Halt: failedRevision in the status still means a rollback": {
			observed: RollingOut(Next(3, one, rolledBack), Pod(0), Pod(1), Pod(2, V2, Crashing)),
			want:     "+3 old, -2",
		},
		"onFailure Continue: failedRevision in the status is ignored": {
			observed: RollingOut(Next(3, one, rolledBack, OnFailure(v1.ContinueOnFailure)), Pod(0), Pod(1, V2), Pod(2, V2)),
			want:     "+3 new, -0",
		},
		"rolled back: complete": {
			observed: RollingOut(Next(3, one, rollback, rolledBack), Pods3()...),
		},
		"a lost pod comes back old": {
			observed: RollingOut(Next(3, one, rollback, rolledBack), Pod(0), Pod(1)),
			want:     "+2 old",
		},
		"Recreate returns as a whole": {
			observed: RollingOut(Next(2, Strategy(v1.RecreateStrategy), rollback, rolledBack), Pod(0, V2), Pod(1, V2)),
			want:     "-1, -0",
		},
		"rolled back: another template starts a rollout": {
			observed: RollingOut(Next(3, one, rollback, FailedBefore), Pods3()...),
			want:     "+3 new, -2",
		},
		"rolled back: the old template put back needs no move": {
			observed: Observe(Manager(3, one, rollback, FailedBefore), Pods3()...),
		},
		"rolled back: paused, no pod moves": {
			observed: RollingOut(Next(3, one, rollback, rolledBack, Paused), Pod(0), Pod(1, V2), Pod(2, V2)),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ActionsOf(plan.Make(test.observed)); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// recorded adds a failing pod to the record of the rollout.
func recorded(name string) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		m.Status.Rollout.Failing = append(m.Status.Rollout.Failing, v1.FailingPod{Name: name, UID: types.UID("uid-" + name), Since: metav1.NewTime(Now)})
	}
}

// A failed pod of the new revision is replaced only when the status has a record of it. The replacement inherits the record; without it, the
// failure would not count.
func TestFailureIsRecordedFirst(t *testing.T) {
	observed := RollingOut(Next(3, Limits("0", "1")), Pod(0), Pod(1), FailedPod(2, time.Second, 0, V2))
	decided := plan.Make(observed)
	if moves := ActionsOf(decided); moves != "" || Until(decided.Again) != time.Second {
		t.Errorf("moves %q, again %v; want none, and another sync after a second", moves, decided.Again)
	}
	if report, _ := status.Compute(ReportOf(observed)); report.Rollout == nil || len(report.Rollout.Failing) != 1 {
		t.Errorf("the record is %+v", report.Rollout)
	}
}

// A backoff for new pods does not keep a rollback from creating old ones.
func TestRollbackIsNotHeld(t *testing.T) {
	m := Next(3, Limits("0", "1"), OnFailure(v1.RollbackOnFailure), FailedNow)
	decided := plan.Make(With(RollingOut(m, Pod(0), Pod(1), Pod(2, V2, Crashing)), InBackoff(Now.Add(time.Minute))))
	if got := ActionsOf(decided); got != "+3 old, -2" {
		t.Errorf("got %q", got)
	}
}
