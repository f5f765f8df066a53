package plan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

func TestPartition(t *testing.T) {
	one := Limits("0", "1")
	tests := map[string]struct {
		observed Observed
		want     string
		why      rollout.Why
	}{
		"leaves so many pods on the old template": {
			observed: RollingOut(Next(3, one, Partition("2")), Pod(0), Pod(1), Pod(2, V2)),
		},
		"only the others are updated": {
			observed: RollingOut(Next(3, Limits("0", "100%"), Partition("2")), Pods3()...),
			want:     "+3 new, -2", why: rollout.WhyOutdated,
		},
		"a percentage is rounded up": {
			observed: RollingOut(Next(3, Limits("0", "100%"), Partition("34%")), Pods3()...),
			want:     "+3 new, -2", why: rollout.WhyOutdated,
		},
		"all": {
			observed: RollingOut(Next(3, one, Partition("100%")), Pods3()...),
		},
		"more than there are means all": {
			observed: RollingOut(Next(3, one, Partition("9")), Pods3()...),
		},
		"lowering it updates more": {
			observed: RollingOut(Next(3, one, Partition("1")), Pod(0), Pod(1), Pod(2, V2)),
			want:     "+3 new, -1", why: rollout.WhyOutdated,
		},
		"raising it moves pods back, within the same limits": {
			observed: RollingOut(Next(4, one, Partition("3")), Pod(0), Pod(1, V2), Pod(2, V2), Pod(3, V2)),
			want:     "+4 old, -3", why: rollout.WhyMovedBack,
		},
		"with a surge, the old one comes first": {
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
		"a rollout that is complete has nothing to go back to": {
			observed: Observe(Manager(3, Partition("2")), Pods3()...),
		},
		"pods of a third template are updated, too": {
			observed: RollingOut(Next(3, one, Partition("1")), Pod(0), Pod(1, OfImage("v1.5")), Pod(2, V2)),
			want:     "+3 new, -1", why: rollout.WhyOutdated,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Make(test.observed)
			if got := MovesOf(plan); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			for _, d := range plan.Delete {
				if d.Why != test.why {
					t.Errorf("%s goes because %q, want %q", d.Pod.Name, d.Why, test.why)
				}
			}
		})
	}
}

// wanted tells how many pods were wanted when the rollout last went on.
func wanted(replicas int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		m.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(m).Name, Replicas: replicas}
	}
}

func TestPaused(t *testing.T) {
	lost := func(o *Observed) { o.Manager.Status.UpdatedReplicas = 1 }
	fresh := func(o *Observed) { o.Manager.Status = v1.PodManagerStatus{} }
	tests := map[string]struct {
		observed Observed
		want     string
	}{
		"nothing is updated": {
			observed: RollingOut(Next(3, Paused), Pods3()...),
		},
		"nor half way": {
			observed: RollingOut(Next(3, Paused, wanted(3)), Pod(0), Pod(1), Pod(2), Pod(3, V2)),
		},
		"a lost old pod comes back old": {
			observed: RollingOut(Next(3, Paused), Pod(0), Pod(1, V2)),
			want:     "+2 old",
		},
		"a lost new pod comes back new, as far as the status remembers": {
			observed: With(RollingOut(Next(3, Paused), Pod(0), Pod(1)), lost),
			want:     "+2 new",
		},
		"scaling up makes old pods": {
			observed: RollingOut(Next(5, Paused), Pod(0), Pod(1), Pod(2, V2)),
			want:     "+3 old, +4 old",
		},
		"scaling down takes the least useful, whatever its template": {
			observed: RollingOut(Next(2, Paused, Limits("0", "1")), Pod(0), Pod(1, V2, NotReady), Pod(2, V2)),
			want:     "-1",
		},
		"half way, the surge stays": {
			observed: RollingOut(Next(2, Paused, Limits("1", "0"), wanted(2)), Pod(0), Pod(1, V2, NotReady), Pod(2, V2)),
		},
		"until somebody scales down": {
			observed: RollingOut(Next(2, Paused, Limits("1", "0"), wanted(3)), Pod(0), Pod(1, V2, NotReady), Pod(2, V2)),
			want:     "-1",
		},
		"then each revision keeps its part": {
			observed: RollingOut(Next(3, Paused, Limits("5", "0"), wanted(4)), Pod(0), Pod(1), Pod(2, V2), Pod(3, V2), Pod(4, V2), Pod(5, V2)),
			want:     "-5, -4, -1",
		},
		"zero means zero": {
			observed: RollingOut(Next(0, Paused, Limits("5", "0")), Pod(0), Pod(1, V2)),
			want:     "-1, -0",
		},
		"also beside one that has ended": {
			observed: RollingOut(Next(0, Paused, Limits("5", "0")), Pod(0), Pod(1, V2), FailedPod(2, time.Second, 0, V2)),
			want:     "-1, -0",
		},
		"a failed pod is replaced by its like": {
			observed: RollingOut(Next(2, Paused), Pod(0), FailedPod(1, time.Second, 0)),
			want:     "+2 old",
		},
		"a fresh PodManager does not begin": {
			observed: With(Observe(Manager(3, Paused)), fresh),
		},
		"one that has begun goes on": {
			observed: With(Observe(Manager(3, Paused), Pod(0)), fresh),
			want:     "+1 new, +2 new",
		},
		"also if all its pods are lost": {
			observed: With(Observe(Manager(2, Paused)), fresh, func(o *Observed) { o.Manager.Status.Replicas = 2 }),
			want:     "+0 new, +1 new",
		},
		"also if that was told, and the first try was refused": {
			observed: With(Observe(Manager(2, Paused, Rolled(2, 0, 0))), func(o *Observed) { o.Manager.Status.CurrentRevision = "" }),
			want:     "+0 new, +1 new",
		},
		"without a change there is nothing to pause": {
			observed: Observe(Manager(3, Paused), Pod(0), Pod(1)),
			want:     "+2 new",
		},
		"a drained pod is let back into service": {
			observed: RollingOut(Next(1, Paused, InPlace(v1.InPlaceOnly, 10)), Pod(0, Gated(corev1.ConditionFalse, time.Second))),
			want:     "Open 0",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := MovesOf(Make(test.observed)); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestHalted(t *testing.T) {
	one, rolledBack := Limits("0", "1"), func(m *v1.PodManager) { m.Status.FailedRevision = RevisionFor(m).Name }
	rollback := OnFailure(v1.RollbackOnFailure)
	tests := map[string]struct {
		observed Observed
		want     string
	}{
		"a failing pod halts the rollout": {
			observed: RollingOut(Next(3, Limits("1", "1")), Pod(0), Pod(1), Pod(2, V2, Crashing)),
		},
		"unless failures do not matter": {
			observed: RollingOut(Next(3, Limits("1", "1"), OnFailure(v1.ContinueOnFailure)), Pod(0), Pod(1), Pod(2, V2, Crashing)),
			want:     "+3 new",
		},
		"or more may fail": {
			observed: RollingOut(Next(3, Limits("1", "1"), MaxFailed("2")), Pod(0), Pod(1), Pod(2, V2, Crashing)),
			want:     "+3 new",
		},
		"as a part of all": {
			observed: RollingOut(Next(4, Limits("1", "1"), MaxFailed("50%")), Pod(0), Pod(1), Pod(2), Pod(3, V2, Crashing)),
			want:     "+4 new",
		},
		"which is rounded down": {
			observed: RollingOut(Next(3, Limits("1", "1"), MaxFailed("66%")), Pod(0), Pod(1), Pod(2, V2, Crashing)),
		},
		"what is missing is replaced by old pods": {
			observed: RollingOut(Next(4, Limits("1", "1")), Pod(0), Pod(1), Pod(2, V2, Crashing)),
			want:     "+3 old",
		},
		"a failed pod is replaced: how else could it recover": {
			observed: RollingOut(Next(3, one), Pod(0), Pod(1), FailedPod(2, time.Second, 0, V2)),
			want:     "+3 new",
		},
		"even where it was beside the others": {
			observed: RollingOut(Next(3, Limits("1", "0")), Pod(0), Pod(1), Pod(2), FailedPod(3, time.Second, 0, V2)),
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
		"bad pods of a third template are not in the way of that": {
			observed: RollingOut(Next(3, Limits("1", "0"), Partition("2")), Pod(0), Pod(1, OfImage("v1.5"), Crashing), Pod(2, OfImage("v1.5"), Crashing), Pod(3, V2, Crashing)),
			want:     "+4 old, +5 old, -2, -1",
		},
		"rolled back: all return to the last good template": {
			observed: RollingOut(Next(3, Limits("0", "100%"), rollback, rolledBack), Pod(0), Pod(1, V2), Pod(2, V2, Crashing)),
			want:     "+3 old, +4 old, -2, -1",
		},
		"within the same limits": {
			observed: RollingOut(Next(3, one, rollback, rolledBack), Pod(0), Pod(1, V2), Pod(2, V2)),
			want:     "+3 old, -2",
		},
		"and the partition does not matter": {
			observed: RollingOut(Next(3, one, rollback, rolledBack, Partition("1")), Pod(0), Pod(1, V2), Pod(2, V2, Crashing)),
			want:     "+3 old, -2",
		},
		"also with Halt, once it is written down": {
			observed: RollingOut(Next(3, one, rolledBack), Pod(0), Pod(1), Pod(2, V2, Crashing)),
			want:     "+3 old, -2",
		},
		"but not once failures do not matter": {
			observed: RollingOut(Next(3, one, rolledBack, OnFailure(v1.ContinueOnFailure)), Pod(0), Pod(1, V2), Pod(2, V2)),
			want:     "+3 new, -0",
		},
		"then nothing more happens": {
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
		"another template is a new try": {
			observed: RollingOut(Next(3, one, rollback, FailedBefore), Pods3()...),
			want:     "+3 new, -2",
		},
		"the old template put back has nothing to do": {
			observed: Observe(Manager(3, one, rollback, FailedBefore), Pods3()...),
		},
		"paused, nothing is rolled back": {
			observed: RollingOut(Next(3, one, rollback, rolledBack, Paused), Pod(0), Pod(1, V2), Pod(2, V2)),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := MovesOf(Make(test.observed)); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// A refusal of new pods does not keep old ones from coming.
func TestRollbackIsNotHeld(t *testing.T) {
	m := Next(3, Limits("0", "1"), OnFailure(v1.RollbackOnFailure), FailedNow)
	plan := Make(With(RollingOut(m, Pod(0), Pod(1), Pod(2, V2, Crashing)), Held(Now.Add(time.Minute))))
	if got := MovesOf(plan); got != "+3 old, -2" {
		t.Errorf("got %q", got)
	}
}
