package plan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

func TestRollingUpdate(t *testing.T) {
	starting := []func(*corev1.Pod){V2, NotReady}
	minReady := func(m *v1.PodManager) { m.Spec.MinReadySeconds = 60 }
	tests := map[string]struct {
		observed Observed
		want     string
	}{
		"of three, a quarter is one more and none less": {
			observed: RollingOut(Next(3), Pods3()...),
			want:     "+3 new",
		},
		"of four, one more and one less": {
			observed: RollingOut(Next(4), Pod(0), Pod(1), Pod(2), Pod(3)),
			want:     "+4 new, +5 new, -3",
		},
		"both zero means one less": {
			observed: RollingOut(Next(3, Limits("0", "0")), Pods3()...),
			want:     "+3 new, -2",
		},
		"percentages that come out as zero, too": {
			observed: RollingOut(Next(3, Limits("0%", "1%")), Pods3()...),
			want:     "+3 new, -2",
		},
		"all at once, if the user says so": {
			observed: RollingOut(Next(3, Limits("0", "100%")), Pods3()...),
			want:     "+3 new, +4 new, +5 new, -2, -1, -0",
		},
		"a replacement may have to wait for the end of the old pod": {
			observed: RollingOut(Next(3, Limits("0", "1"), complete), Pods3()...),
			want:     "-2",
		},
		"that counts against a surge as well": {
			observed: RollingOut(Next(3, Limits("1", "0"), complete), Pod(0), Pod(1), Pod(2), Pod(3, Terminating)),
		},
		"an old pod that is not available goes first, and at no cost": {
			observed: RollingOut(Next(3, Limits("0", "1")), Pod(0, NotReady), Pod(1), Pod(2, NotReady)),
			want:     "+3 new, -2",
		},
		"too few are available already: only the others go": {
			observed: RollingOut(Next(3, Limits("0", "1")), Pod(0), Pod(1), Pod(2, NotReady)),
			want:     "+3 new, -2",
		},
		"the new pod is waited for": {
			observed: RollingOut(Next(3), Pod(0), Pod(1), Pod(2), Pod(3, starting...)),
		},
		"until it has been ready for long enough": {
			observed: RollingOut(Next(3, minReady), Pod(0), Pod(1), Pod(2), Pod(3, V2, ReadyFor(59*time.Second))),
		},
		"then it takes the place of an old one": {
			observed: RollingOut(Next(3, minReady), Pod(0), Pod(1), Pod(2), Pod(3, V2, ReadyFor(time.Minute))),
			want:     "+4 new, -2",
		},
		"in the end the surplus goes": {
			observed: RollingOut(Next(3), Pod(0), Pod(3, V2), Pod(4, V2), Pod(5, V2)),
			want:     "-0",
		},
		"then there is nothing to do": {
			observed: RollingOut(Next(3), Pod(3, V2), Pod(4, V2), Pod(5, V2)),
		},
		"a third template: pods of both others go": {
			observed: RollingOut(Next(3, Limits("0", "2")), Pod(0), Pod(1, OfImage("v1.5")), Pod(2, OfImage("v1.5"), NotReady)),
			want:     "+3 new, +4 new, -2, -1",
		},
		"scaling down takes old pods first": {
			observed: RollingOut(Next(2, Limits("1", "0")), Pod(0), Pod(1), Pod(2, V2), Pod(3, V2)),
			want:     "-1, -0",
		},
		"scaling down does not hurt either": {
			observed: RollingOut(Next(3, Limits("0", "1")), Pod(0), Pod(1), Pod(2, V2, NotReady), Pod(3, V2, NotReady), Pod(4, V2, NotReady)),
		},
		"scaling up: no more unproven pods than the limits make, the others from the old template": {
			observed: RollingOut(Next(10, Limits("1", "1")), Pod(0), Pod(1), Pod(2, starting...)),
			want:     "+3 old, +4 old, +5 old, +6 old, +7 old, +8 old, +9 old, +10 new",
		},
		"scaling up with a bad revision: only old ones, as many as have to serve": {
			observed: RollingOut(Next(5, Limits("1", "1")), Pod(0), Pod(1), Pod(2, starting...), Pod(3, starting...)),
			want:     "+4 old, +5 old",
		},
		"a lost old pod is replaced by a new one, as far as the limits go": {
			observed: RollingOut(Next(3, Limits("0", "1")), Pod(0), Pod(1)),
			want:     "+2 new",
		},
		"a refused pod: the old ones stay, and the place is kept for the next try": {
			observed: With(RollingOut(Next(3, Limits("0", "1")), Pod(0), Pod(1)), Held(Now.Add(time.Minute))),
		},
		"nor does one of them go to make it": {
			observed: With(RollingOut(Next(3, Limits("0", "1")), Pods3()...), Held(Now.Add(time.Minute))),
		},
		"below what has to be available, it is filled with an old one": {
			observed: With(RollingOut(Next(3, Limits("0", "1")), Pod(0)), Held(Now.Add(time.Minute))),
			want:     "+1 old",
		},
		"one is enough to find out whether it is still refused": {
			observed: With(RollingOut(Next(8, Limits("4", "0")), Pod(0), Pod(1), Pod(2), Pod(3), Pod(4), Pod(5), Pod(6), Pod(7)), Held(Now)),
			want:     "+8 new",
		},
		"but none while others have yet to become available": {
			observed: With(RollingOut(Next(4, Limits("1", "1")), Pod(0), Pod(1, starting...), Pod(2, starting...)), Held(Now)),
			want:     "+3 old, +4 old",
		},
		"without a last good revision all pods are of the new template": {
			observed: With(RollingOut(Next(3)), func(o *Observed) { o.Manager.Status.CurrentRevision = "" }),
			want:     "+0 new, +1 new, +2 new",
		},
		"a pod made by hand is taken for an old one": {
			observed: RollingOut(Next(1, Limits("0", "1")), Pod(0, Unlabelled)),
			want:     "+1 new, -0",
		},
		"and left alone until the template changes": {
			observed: Observe(Manager(1), Pod(0, Unlabelled)),
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

func TestHeldRollout(t *testing.T) {
	plan := Make(With(RollingOut(Next(3, Limits("0", "1")), Pod(0), Pod(1)), Held(Now.Add(time.Minute))))
	if plan.Held == nil || plan.Held.Reason != v1.ReasonForbidden || Until(plan.Again) != time.Minute {
		t.Errorf("held %v, again %v: the refusal is not told", plan.Held, plan.Again)
	}
}

func TestOtherStrategies(t *testing.T) {
	recreate, onDelete := Strategy(v1.RecreateStrategy), Strategy(v1.OnDeleteStrategy)
	tests := map[string]struct {
		observed Observed
		want     string
	}{
		"Recreate: first all old pods go": {
			observed: RollingOut(Next(3, recreate), Pods3()...),
			want:     "-2, -1, -0",
		},
		"Recreate: the last of them is waited for": {
			observed: RollingOut(Next(3, recreate), Pod(0, Terminating)),
		},
		"Recreate: then all new ones come": {
			observed: RollingOut(Next(3, recreate)),
			want:     "+0 new, +1 new, +2 new",
		},
		"Recreate: an old pod that comes late goes, and holds up nothing that is there": {
			observed: RollingOut(Next(2, recreate), Pod(0), Pod(1, V2)),
			want:     "-0",
		},
		"Recreate: a pod that has ended does not run any more": {
			observed: RollingOut(Next(1, recreate), Pod(0, Phase(corev1.PodFailed), Terminating)),
			want:     "+1 new",
		},
		"Recreate: a pod of the same template that is terminating is no hindrance": {
			observed: RollingOut(Next(1, recreate), Pod(0, V2, Terminating)),
			want:     "+1 new",
		},
		"Recreate, paused: what is lost comes back as it was": {
			observed: RollingOut(Next(3, recreate, Paused), Pod(0), Pod(1)),
			want:     "+2 old",
		},
		"Recreate, paused half way: none is added to those that must not meet others": {
			observed: RollingOut(Next(3, recreate, Paused), Pod(0), Pod(1, V2)),
		},
		"OnDelete: nothing happens by itself": {
			observed: RollingOut(Next(3, onDelete), Pods3()...),
		},
		"OnDelete: a deleted pod comes back updated": {
			observed: RollingOut(Next(3, onDelete), Pod(0), Pod(1, Terminating), Pod(2)),
			want:     "+3 new",
		},
		"OnDelete: one that is marked, too": {
			observed: RollingOut(Next(3, onDelete), Pod(0), Pod(1, Marked), Pod(2)),
			want:     "+3 new, -1",
		},
		"OnDelete: scaling up makes updated pods": {
			observed: RollingOut(Next(4, onDelete), Pods3()...),
			want:     "+3 new",
		},
		"OnDelete, paused: a deleted pod comes back as it was": {
			observed: RollingOut(Next(3, onDelete, Paused), Pod(0), Pod(1)),
			want:     "+2 old",
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
