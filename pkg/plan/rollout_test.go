package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// movesOf is what a plan does to pods, in short: "+3 new" is created, "-0" deleted, "Change 1" changed in place.
func movesOf(plan Plan) string {
	var text []string
	for _, c := range plan.Create {
		kind := "old"
		if c.Revision == plan.Revisions.Update {
			kind = "new"
		}
		text = append(text, fmt.Sprintf("+%d %s", c.Index, kind))
	}
	for _, d := range plan.Delete {
		text = append(text, "-"+strings.TrimPrefix(d.Pod.Name, "web-"))
	}
	for _, c := range plan.Change {
		text = append(text, fmt.Sprintf("%s %s", c.Step, strings.TrimPrefix(c.Pod.Name, "web-")))
	}
	return strings.Join(text, ", ")
}

func v2(p *corev1.Pod) { of("v2")(p) }

// next is the PodManager after its image was changed to v2.
func next(replicas int32, change ...func(*v1.PodManager)) *v1.PodManager {
	m := manager(replicas, image("v2"))
	for _, c := range change {
		c(m)
	}
	return m
}

func TestRollingUpdate(t *testing.T) {
	starting := []func(*corev1.Pod){v2, notReady}
	minReady := func(m *v1.PodManager) { m.Spec.MinReadySeconds = 60 }
	tests := map[string]struct {
		observed Observed
		want     string
	}{
		"of three, a quarter is one more and none less": {
			observed: rollingOut(next(3), pods3()...),
			want:     "+3 new",
		},
		"of four, one more and one less": {
			observed: rollingOut(next(4), pod(0), pod(1), pod(2), pod(3)),
			want:     "+4 new, +5 new, -3",
		},
		"both zero means one less": {
			observed: rollingOut(next(3, limits("0", "0")), pods3()...),
			want:     "+3 new, -2",
		},
		"percentages that come out as zero, too": {
			observed: rollingOut(next(3, limits("0%", "1%")), pods3()...),
			want:     "+3 new, -2",
		},
		"all at once, if the user says so": {
			observed: rollingOut(next(3, limits("0", "100%")), pods3()...),
			want:     "+3 new, +4 new, +5 new, -2, -1, -0",
		},
		"a replacement may have to wait for the end of the old pod": {
			observed: rollingOut(next(3, limits("0", "1"), complete), pods3()...),
			want:     "-2",
		},
		"that counts against a surge as well": {
			observed: rollingOut(next(3, limits("1", "0"), complete), pod(0), pod(1), pod(2), pod(3, terminating)),
		},
		"an old pod that is not available goes first, and at no cost": {
			observed: rollingOut(next(3, limits("0", "1")), pod(0, notReady), pod(1), pod(2, notReady)),
			want:     "+3 new, -2",
		},
		"too few are available already: only the others go": {
			observed: rollingOut(next(3, limits("0", "1")), pod(0), pod(1), pod(2, notReady)),
			want:     "+3 new, -2",
		},
		"the new pod is waited for": {
			observed: rollingOut(next(3), pod(0), pod(1), pod(2), pod(3, starting...)),
		},
		"until it has been ready for long enough": {
			observed: rollingOut(next(3, minReady), pod(0), pod(1), pod(2), pod(3, v2, readyFor(59*time.Second))),
		},
		"then it takes the place of an old one": {
			observed: rollingOut(next(3, minReady), pod(0), pod(1), pod(2), pod(3, v2, readyFor(time.Minute))),
			want:     "+4 new, -2",
		},
		"in the end the surplus goes": {
			observed: rollingOut(next(3), pod(0), pod(3, v2), pod(4, v2), pod(5, v2)),
			want:     "-0",
		},
		"then there is nothing to do": {
			observed: rollingOut(next(3), pod(3, v2), pod(4, v2), pod(5, v2)),
		},
		"a third template: pods of both others go": {
			observed: rollingOut(next(3, limits("0", "2")), pod(0), pod(1, of("v1.5")), pod(2, of("v1.5"), notReady)),
			want:     "+3 new, +4 new, -2, -1",
		},
		"scaling down takes old pods first": {
			observed: rollingOut(next(2, limits("1", "0")), pod(0), pod(1), pod(2, v2), pod(3, v2)),
			want:     "-1, -0",
		},
		"scaling down does not hurt either": {
			observed: rollingOut(next(3, limits("0", "1")), pod(0), pod(1), pod(2, v2, notReady), pod(3, v2, notReady), pod(4, v2, notReady)),
		},
		"scaling up: no more unproven pods than the limits make, the others from the old template": {
			observed: rollingOut(next(10, limits("1", "1")), pod(0), pod(1), pod(2, starting...)),
			want:     "+3 old, +4 old, +5 old, +6 old, +7 old, +8 old, +9 old, +10 new",
		},
		"scaling up with a bad revision: only old ones, as many as have to serve": {
			observed: rollingOut(next(5, limits("1", "1")), pod(0), pod(1), pod(2, starting...), pod(3, starting...)),
			want:     "+4 old, +5 old",
		},
		"a lost old pod is replaced by a new one, as far as the limits go": {
			observed: rollingOut(next(3, limits("0", "1")), pod(0), pod(1)),
			want:     "+2 new",
		},
		"a refused pod: the old ones stay, and the place is kept for the next try": {
			observed: with(rollingOut(next(3, limits("0", "1")), pod(0), pod(1)), held(now.Add(time.Minute))),
		},
		"nor does one of them go to make it": {
			observed: with(rollingOut(next(3, limits("0", "1")), pods3()...), held(now.Add(time.Minute))),
		},
		"below what has to be available, it is filled with an old one": {
			observed: with(rollingOut(next(3, limits("0", "1")), pod(0)), held(now.Add(time.Minute))),
			want:     "+1 old",
		},
		"one is enough to find out whether it is still refused": {
			observed: with(rollingOut(next(8, limits("4", "0")), pod(0), pod(1), pod(2), pod(3), pod(4), pod(5), pod(6), pod(7)), held(now)),
			want:     "+8 new",
		},
		"but none while others have yet to become available": {
			observed: with(rollingOut(next(4, limits("1", "1")), pod(0), pod(1, starting...), pod(2, starting...)), held(now)),
			want:     "+3 old, +4 old",
		},
		"without a last good revision all pods are of the new template": {
			observed: with(rollingOut(next(3)), func(o *Observed) { o.Manager.Status.CurrentRevision = "" }),
			want:     "+0 new, +1 new, +2 new",
		},
		"a pod made by hand is taken for an old one": {
			observed: rollingOut(next(1, limits("0", "1")), pod(0, unlabelled)),
			want:     "+1 new, -0",
		},
		"and left alone until the template changes": {
			observed: observe(manager(1), pod(0, unlabelled)),
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

func unlabelled(p *corev1.Pod) { delete(p.Labels, v1.LabelRevision) }

func TestHeldRollout(t *testing.T) {
	plan := Make(with(rollingOut(next(3, limits("0", "1")), pod(0), pod(1)), held(now.Add(time.Minute))))
	if plan.Held == nil || plan.Held.Reason != v1.ReasonForbidden || until(plan.Again) != time.Minute {
		t.Errorf("held %v, again %v: the refusal is not told", plan.Held, plan.Again)
	}
}

func TestOtherStrategies(t *testing.T) {
	recreate, onDelete := strategy(v1.RecreateStrategy), strategy(v1.OnDeleteStrategy)
	tests := map[string]struct {
		observed Observed
		want     string
	}{
		"Recreate: first all old pods go": {
			observed: rollingOut(next(3, recreate), pods3()...),
			want:     "-2, -1, -0",
		},
		"Recreate: the last of them is waited for": {
			observed: rollingOut(next(3, recreate), pod(0, terminating)),
		},
		"Recreate: then all new ones come": {
			observed: rollingOut(next(3, recreate)),
			want:     "+0 new, +1 new, +2 new",
		},
		"Recreate: an old pod that comes late goes, and holds up nothing that is there": {
			observed: rollingOut(next(2, recreate), pod(0), pod(1, v2)),
			want:     "-0",
		},
		"Recreate: a pod that has ended does not run any more": {
			observed: rollingOut(next(1, recreate), pod(0, phase(corev1.PodFailed), terminating)),
			want:     "+1 new",
		},
		"Recreate: a pod of the same template that is ending is no hindrance": {
			observed: rollingOut(next(1, recreate), pod(0, v2, terminating)),
			want:     "+1 new",
		},
		"Recreate, paused: what is lost comes back as it was": {
			observed: rollingOut(next(3, recreate, paused), pod(0), pod(1)),
			want:     "+2 old",
		},
		"Recreate, paused half way: none is added to those that must not meet others": {
			observed: rollingOut(next(3, recreate, paused), pod(0), pod(1, v2)),
		},
		"OnDelete: nothing happens by itself": {
			observed: rollingOut(next(3, onDelete), pods3()...),
		},
		"OnDelete: a deleted pod comes back updated": {
			observed: rollingOut(next(3, onDelete), pod(0), pod(1, terminating), pod(2)),
			want:     "+3 new",
		},
		"OnDelete: one that is marked, too": {
			observed: rollingOut(next(3, onDelete), pod(0), pod(1, marked), pod(2)),
			want:     "+3 new, -1",
		},
		"OnDelete: scaling up makes updated pods": {
			observed: rollingOut(next(4, onDelete), pods3()...),
			want:     "+3 new",
		},
		"OnDelete, paused: a deleted pod comes back as it was": {
			observed: rollingOut(next(3, onDelete, paused), pod(0), pod(1)),
			want:     "+2 old",
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
