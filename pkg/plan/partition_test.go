package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestPartition(t *testing.T) {
	one := limits("0", "1")
	tests := map[string]struct {
		observed Observed
		want     string
		why      Why
	}{
		"leaves so many pods on the old template": {
			observed: rollingOut(next(3, one, partition("2")), pod(0), pod(1), pod(2, v2)),
		},
		"only the others are updated": {
			observed: rollingOut(next(3, limits("0", "100%"), partition("2")), pods3()...),
			want:     "+3 new, -2", why: WhyOutdated,
		},
		"a percentage is rounded up": {
			observed: rollingOut(next(3, limits("0", "100%"), partition("34%")), pods3()...),
			want:     "+3 new, -2", why: WhyOutdated,
		},
		"all": {
			observed: rollingOut(next(3, one, partition("100%")), pods3()...),
		},
		"more than there are means all": {
			observed: rollingOut(next(3, one, partition("9")), pods3()...),
		},
		"lowering it updates more": {
			observed: rollingOut(next(3, one, partition("1")), pod(0), pod(1), pod(2, v2)),
			want:     "+3 new, -1", why: WhyOutdated,
		},
		"raising it moves pods back, within the same limits": {
			observed: rollingOut(next(4, one, partition("3")), pod(0), pod(1, v2), pod(2, v2), pod(3, v2)),
			want:     "+4 old, -3", why: WhyMovedBack,
		},
		"with a surge, the old one comes first": {
			observed: rollingOut(next(3, limits("1", "0"), partition("3")), pod(0), pod(1), pod(2, v2)),
			want:     "+3 old",
		},
		"a lost old pod comes back old": {
			observed: rollingOut(next(3, one, partition("2")), pod(0), pod(2, v2)),
			want:     "+1 old",
		},
		"a lost new pod comes back new": {
			observed: rollingOut(next(3, one, partition("2")), pod(0), pod(1)),
			want:     "+2 new",
		},
		"scaling up keeps the number of old pods": {
			observed: rollingOut(next(5, one, partition("2")), pod(0), pod(1), pod(2, v2)),
			want:     "+3 old, +4 new",
		},
		"a rollout that is complete has nothing to go back to": {
			observed: observe(manager(3, partition("2")), pods3()...),
		},
		"pods of a third template are updated, too": {
			observed: rollingOut(next(3, one, partition("1")), pod(0), pod(1, of("v1.5")), pod(2, v2)),
			want:     "+3 new, -1", why: WhyOutdated,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Make(test.observed)
			if got := movesOf(plan); got != test.want {
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
		m.Status.Rollout = &v1.RolloutStatus{Revision: revisionFor(m).Name, Replicas: replicas}
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
			observed: rollingOut(next(3, paused), pods3()...),
		},
		"nor half way": {
			observed: rollingOut(next(3, paused, wanted(3)), pod(0), pod(1), pod(2), pod(3, v2)),
		},
		"a lost old pod comes back old": {
			observed: rollingOut(next(3, paused), pod(0), pod(1, v2)),
			want:     "+2 old",
		},
		"a lost new pod comes back new, as far as the status remembers": {
			observed: with(rollingOut(next(3, paused), pod(0), pod(1)), lost),
			want:     "+2 new",
		},
		"scaling up makes old pods": {
			observed: rollingOut(next(5, paused), pod(0), pod(1), pod(2, v2)),
			want:     "+3 old, +4 old",
		},
		"scaling down takes the least useful, whatever its template": {
			observed: rollingOut(next(2, paused, limits("0", "1")), pod(0), pod(1, v2, notReady), pod(2, v2)),
			want:     "-1",
		},
		"half way, the surge stays": {
			observed: rollingOut(next(2, paused, limits("1", "0"), wanted(2)), pod(0), pod(1, v2, notReady), pod(2, v2)),
		},
		"until somebody scales down": {
			observed: rollingOut(next(2, paused, limits("1", "0"), wanted(3)), pod(0), pod(1, v2, notReady), pod(2, v2)),
			want:     "-1",
		},
		"then each revision keeps its part": {
			observed: rollingOut(next(3, paused, limits("5", "0"), wanted(4)), pod(0), pod(1), pod(2, v2), pod(3, v2), pod(4, v2), pod(5, v2)),
			want:     "-5, -4, -1",
		},
		"zero means zero": {
			observed: rollingOut(next(0, paused, limits("5", "0")), pod(0), pod(1, v2)),
			want:     "-1, -0",
		},
		"also beside one that has ended": {
			observed: rollingOut(next(0, paused, limits("5", "0")), pod(0), pod(1, v2), failed(2, time.Second, 0, v2)),
			want:     "-1, -0",
		},
		"a failed pod is replaced by its like": {
			observed: rollingOut(next(2, paused), pod(0), failed(1, time.Second, 0)),
			want:     "+2 old",
		},
		"a fresh PodManager does not begin": {
			observed: with(observe(manager(3, paused)), fresh),
		},
		"one that has begun goes on": {
			observed: with(observe(manager(3, paused), pod(0)), fresh),
			want:     "+1 new, +2 new",
		},
		"also if all its pods are lost": {
			observed: with(observe(manager(2, paused)), fresh, func(o *Observed) { o.Manager.Status.Replicas = 2 }),
			want:     "+0 new, +1 new",
		},
		"also if that was told, and the first try was refused": {
			observed: with(observe(manager(2, paused, rolled(2, 0, 0))), func(o *Observed) { o.Manager.Status.CurrentRevision = "" }),
			want:     "+0 new, +1 new",
		},
		"without a change there is nothing to pause": {
			observed: observe(manager(3, paused), pod(0), pod(1)),
			want:     "+2 new",
		},
		"a drained pod is let back into service": {
			observed: rollingOut(next(1, paused, inPlace(v1.InPlaceOnly, 10)), pod(0, gated(corev1.ConditionFalse, time.Second))),
			want:     "Open 0",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := movesOf(Make(test.observed)); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestHalted(t *testing.T) {
	one, rolledBack := limits("0", "1"), func(m *v1.PodManager) { m.Status.FailedRevision = revisionFor(m).Name }
	rollback := onFailure(v1.RollbackOnFailure)
	tests := map[string]struct {
		observed Observed
		want     string
	}{
		"a failing pod halts the rollout": {
			observed: rollingOut(next(3, limits("1", "1")), pod(0), pod(1), pod(2, v2, crashing)),
		},
		"unless failures do not matter": {
			observed: rollingOut(next(3, limits("1", "1"), onFailure(v1.ContinueOnFailure)), pod(0), pod(1), pod(2, v2, crashing)),
			want:     "+3 new",
		},
		"or more may fail": {
			observed: rollingOut(next(3, limits("1", "1"), maxFailed("2")), pod(0), pod(1), pod(2, v2, crashing)),
			want:     "+3 new",
		},
		"as a part of all": {
			observed: rollingOut(next(4, limits("1", "1"), maxFailed("50%")), pod(0), pod(1), pod(2), pod(3, v2, crashing)),
			want:     "+4 new",
		},
		"which is rounded down": {
			observed: rollingOut(next(3, limits("1", "1"), maxFailed("66%")), pod(0), pod(1), pod(2, v2, crashing)),
		},
		"what is missing is replaced by old pods": {
			observed: rollingOut(next(4, limits("1", "1")), pod(0), pod(1), pod(2, v2, crashing)),
			want:     "+3 old",
		},
		"a failed pod is replaced: how else could it recover": {
			observed: rollingOut(next(3, one), pod(0), pod(1), failed(2, time.Second, 0, v2)),
			want:     "+3 new",
		},
		"even where it was beside the others": {
			observed: rollingOut(next(3, limits("1", "0")), pod(0), pod(1), pod(2), failed(3, time.Second, 0, v2)),
			want:     "+4 new",
		},
		"an old pod that fails halts nothing": {
			observed: rollingOut(next(3, one), pod(0), pod(1), pod(2, crashing)),
			want:     "+3 new, -2",
		},
		"raising the partition is the way back": {
			observed: rollingOut(next(3, one, partition("100%")), pod(0), pod(1), pod(2, v2, crashing)),
			want:     "+3 old, -2",
		},
		"bad pods of a third template are not in the way of that": {
			observed: rollingOut(next(3, limits("1", "0"), partition("2")), pod(0), pod(1, of("v1.5"), crashing), pod(2, of("v1.5"), crashing), pod(3, v2, crashing)),
			want:     "+4 old, +5 old, -2, -1",
		},
		"rolled back: all return to the last good template": {
			observed: rollingOut(next(3, limits("0", "100%"), rollback, rolledBack), pod(0), pod(1, v2), pod(2, v2, crashing)),
			want:     "+3 old, +4 old, -2, -1",
		},
		"within the same limits": {
			observed: rollingOut(next(3, one, rollback, rolledBack), pod(0), pod(1, v2), pod(2, v2)),
			want:     "+3 old, -2",
		},
		"and the partition does not matter": {
			observed: rollingOut(next(3, one, rollback, rolledBack, partition("1")), pod(0), pod(1, v2), pod(2, v2, crashing)),
			want:     "+3 old, -2",
		},
		"also with Halt, once it is written down": {
			observed: rollingOut(next(3, one, rolledBack), pod(0), pod(1), pod(2, v2, crashing)),
			want:     "+3 old, -2",
		},
		"but not once failures do not matter": {
			observed: rollingOut(next(3, one, rolledBack, onFailure(v1.ContinueOnFailure)), pod(0), pod(1, v2), pod(2, v2)),
			want:     "+3 new, -0",
		},
		"then nothing more happens": {
			observed: rollingOut(next(3, one, rollback, rolledBack), pods3()...),
		},
		"a lost pod comes back old": {
			observed: rollingOut(next(3, one, rollback, rolledBack), pod(0), pod(1)),
			want:     "+2 old",
		},
		"Recreate returns as a whole": {
			observed: rollingOut(next(2, strategy(v1.RecreateStrategy), rollback, rolledBack), pod(0, v2), pod(1, v2)),
			want:     "-1, -0",
		},
		"another template is a new try": {
			observed: rollingOut(next(3, one, rollback, failedBefore), pods3()...),
			want:     "+3 new, -2",
		},
		"the old template put back has nothing to do": {
			observed: observe(manager(3, one, rollback, failedBefore), pods3()...),
		},
		"paused, nothing is rolled back": {
			observed: rollingOut(next(3, one, rollback, rolledBack, paused), pod(0), pod(1, v2), pod(2, v2)),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := movesOf(Make(test.observed)); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// A refusal of new pods does not keep old ones from coming.
func TestRollbackIsNotHeld(t *testing.T) {
	m := next(3, limits("0", "1"), onFailure(v1.RollbackOnFailure), failedNow)
	plan := Make(with(rollingOut(m, pod(0), pod(1), pod(2, v2, crashing)), held(now.Add(time.Minute))))
	if got := movesOf(plan); got != "+3 old, -2" {
		t.Errorf("got %q", got)
	}
}

func maxFailed(value string) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.FailurePolicy.MaxFailedPods = ptr.To(intstr.Parse(value)) }
}

// failedBefore tells of a revision that is not the present one.
func failedBefore(m *v1.PodManager) {
	m.Status.FailedRevision = revisionFor(manager(0, image("v1.5"))).Name
}
