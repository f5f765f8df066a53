package rollout_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

func TestRollingUpdate(t *testing.T) {
	starting := []func(*corev1.Pod){V2, NotReady}
	minReady := func(m *v1.PodManager) { m.Spec.MinReadySeconds = 60 }
	tests := map[string]struct {
		observed plan.Observed
		want     string
	}{
		"the default for 3 replicas: maxSurge 1, maxUnavailable 0": {
			observed: RollingOut(Next(3), Pods3()...),
			want:     "+3 new",
		},
		"the default for 4 replicas: maxSurge 1, maxUnavailable 1": {
			observed: RollingOut(Next(4), Pod(0), Pod(1), Pod(2), Pod(3)),
			want:     "+4 new, +5 new, -3",
		},
		"both limits 0: maxUnavailable is 1": {
			observed: RollingOut(Next(3, Limits("0", "0")), Pods3()...),
			want:     "+3 new, -2",
		},
		"both limits 0 after rounding: maxUnavailable is 1": {
			observed: RollingOut(Next(3, Limits("0%", "1%")), Pods3()...),
			want:     "+3 new, -2",
		},
		"maxUnavailable 100%: all at once": {
			observed: RollingOut(Next(3, Limits("0", "100%")), Pods3()...),
			want:     "+3 new, +4 new, +5 new, -2, -1, -0",
		},
		"TerminationComplete: the replacement waits until the old pod is gone": {
			observed: RollingOut(Next(3, Limits("0", "1"), TerminationComplete), Pods3()...),
			want:     "-2",
		},
		"TerminationComplete: a terminating pod counts against maxSurge": {
			observed: RollingOut(Next(3, Limits("1", "0"), TerminationComplete), Pod(0), Pod(1), Pod(2), Pod(3, Terminating)),
		},
		"an unavailable old pod goes first, and not against maxUnavailable": {
			observed: RollingOut(Next(3, Limits("0", "1")), Pod(0, NotReady), Pod(1), Pod(2, NotReady)),
			want:     "+3 new, -2",
		},
		"maxUnavailable is used up: only the unavailable pod goes": {
			observed: RollingOut(Next(3, Limits("0", "1")), Pod(0), Pod(1), Pod(2, NotReady)),
			want:     "+3 new, -2",
		},
		"the rollout waits for a new pod to become ready": {
			observed: RollingOut(Next(3), Pod(0), Pod(1), Pod(2), Pod(3, starting...)),
		},
		"the rollout waits for minReadySeconds of a new pod": {
			observed: RollingOut(Next(3, minReady), Pod(0), Pod(1), Pod(2), Pod(3, V2, ReadyFor(59*time.Second))),
		},
		"a new pod that is available replaces an old one": {
			observed: RollingOut(Next(3, minReady), Pod(0), Pod(1), Pod(2), Pod(3, V2, ReadyFor(time.Minute))),
			want:     "+4 new, -2",
		},
		"all are updated: the old surge pod goes": {
			observed: RollingOut(Next(3), Pod(0), Pod(3, V2), Pod(4, V2), Pod(5, V2)),
			want:     "-0",
		},
		"the rollout is complete: nothing to do": {
			observed: RollingOut(Next(3), Pod(3, V2), Pod(4, V2), Pod(5, V2)),
		},
		"a third template: old pods and pods of another revision go": {
			observed: RollingOut(Next(3, Limits("0", "2")), Pod(0), Pod(1, OfImage("v1.5")), Pod(2, OfImage("v1.5"), NotReady)),
			want:     "+3 new, +4 new, -2, -1",
		},
		"scaling down takes old pods first": {
			observed: RollingOut(Next(2, Limits("1", "0")), Pod(0), Pod(1), Pod(2, V2), Pod(3, V2)),
			want:     "-1, -0",
		},
		"scaling down keeps within maxUnavailable": {
			observed: RollingOut(Next(3, Limits("0", "1")), Pod(0), Pod(1), Pod(2, V2, NotReady), Pod(3, V2, NotReady), Pod(4, V2, NotReady)),
		},
		"scaling up: the quota limits new pods, the others are old": {
			observed: RollingOut(Next(10, Limits("1", "1")), Pod(0), Pod(1), Pod(2, starting...)),
			want:     "+3 old, +4 old, +5 old, +6 old, +7 old, +8 old, +9 old, +10 new",
		},
		"scaling up with a bad revision: only old pods, up to minAvailable": {
			observed: RollingOut(Next(5, Limits("1", "1")), Pod(0), Pod(1), Pod(2, starting...), Pod(3, starting...)),
			want:     "+4 old, +5 old",
		},
		"a lost old pod is replaced by a new one within the limits": {
			observed: RollingOut(Next(3, Limits("0", "1")), Pod(0), Pod(1)),
			want:     "+2 new",
		},
		"a refused new pod: its place stays free for the next try": {
			observed: With(RollingOut(Next(3, Limits("0", "1")), Pod(0), Pod(1)), InBackoff(Now.Add(time.Minute))),
		},
		"a refused new pod: no old pod is deleted for it": {
			observed: With(RollingOut(Next(3, Limits("0", "1")), Pods3()...), InBackoff(Now.Add(time.Minute))),
		},
		"a refused new pod: below minAvailable an old pod is created": {
			observed: With(RollingOut(Next(3, Limits("0", "1")), Pod(0)), InBackoff(Now.Add(time.Minute))),
			want:     "+1 old",
		},
		"after the backoff of a refusal, one new pod is tried": {
			observed: With(RollingOut(Next(8, Limits("4", "0")), Pod(0), Pod(1), Pod(2), Pod(3), Pod(4), Pod(5), Pod(6), Pod(7)), InBackoff(Now)),
			want:     "+8 new",
		},
		"after the backoff of a refusal, none is tried while the quota is used up": {
			observed: With(RollingOut(Next(4, Limits("1", "1")), Pod(0), Pod(1, starting...), Pod(2, starting...)), InBackoff(Now)),
			want:     "+3 old, +4 old",
		},
		"without a last good revision all pods are of the new template": {
			observed: With(RollingOut(Next(3)), func(o *plan.Observed) { o.Manager.Status.CurrentRevision = "" }),
			want:     "+0 new, +1 new, +2 new",
		},
		"a marked pod waits for its replacement, which stays, beside a superseded revision": {
			observed: RollingOut(Next(3, Limits("1", "0"), Partition("3")), Pod(0, Marked), Pod(1, OfImage("v0")), Pod(2), Pod(3, NotReady)),
		},
		"a pod created by hand counts for the old revision": {
			observed: RollingOut(Next(1, Limits("0", "1")), Pod(0, Unlabelled)),
			want:     "+1 new, -0",
		},
		"a pod created by hand stays until the template changes": {
			observed: Observe(Manager(1), Pod(0, Unlabelled)),
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

func TestHeldRollout(t *testing.T) {
	decided := plan.Make(With(RollingOut(Next(3, Limits("0", "1")), Pod(0), Pod(1)), InBackoff(Now.Add(time.Minute))))
	if decided.Blocked == nil || decided.Blocked.Reason != v1.ReasonForbidden || Until(decided.Again) != time.Minute {
		t.Errorf("blocked %v, again %v: the refusal is not reported", decided.Blocked, decided.Again)
	}
	short := RollingOut(Next(4, Limits("0", "3")), Pod(0), Pod(1), Pod(2))
	if got := ActionsOf(plan.Make(With(short, InBackoff(Now.Add(-time.Second))))); got != "+3 new" {
		t.Errorf("the next try takes the place of a missing pod, and no other pod has to go: %q", got)
	}
	if got := ActionsOf(plan.Make(With(short, InBackoff(Now.Add(time.Minute))))); got != "" {
		t.Errorf("while a pod is missing that cannot be created: %q", got)
	}
}

func TestOtherStrategies(t *testing.T) {
	recreate, onDelete := Strategy(v1.RecreateStrategy), Strategy(v1.OnDeleteStrategy)
	tests := map[string]struct {
		observed plan.Observed
		want     string
	}{
		"Recreate: first all old pods go": {
			observed: RollingOut(Next(3, recreate), Pods3()...),
			want:     "-2, -1, -0",
		},
		"Recreate: a terminating old pod is waited for": {
			observed: RollingOut(Next(3, recreate), Pod(0, Terminating)),
		},
		"Recreate: without old pods all new pods are created": {
			observed: RollingOut(Next(3, recreate)),
			want:     "+0 new, +1 new, +2 new",
		},
		"Recreate: an old pod beside a new one is deleted": {
			observed: RollingOut(Next(2, recreate), Pod(0), Pod(1, V2)),
			want:     "-0",
		},
		"Recreate: a finished old pod that is terminating is not waited for": {
			observed: RollingOut(Next(1, recreate), Pod(0, Phase(corev1.PodFailed), Terminating)),
			want:     "+1 new",
		},
		"Recreate: a terminating new pod is not waited for": {
			observed: RollingOut(Next(1, recreate), Pod(0, V2, Terminating)),
			want:     "+1 new",
		},
		"Recreate, paused: a lost old pod comes back old": {
			observed: RollingOut(Next(3, recreate, Paused), Pod(0), Pod(1)),
			want:     "+2 old",
		},
		"Recreate, paused half way: no pod is created while revisions overlap": {
			observed: RollingOut(Next(3, recreate, Paused), Pod(0), Pod(1, V2)),
		},
		"OnDelete: nothing happens by itself": {
			observed: RollingOut(Next(3, onDelete), Pods3()...),
		},
		"OnDelete: a deleted pod comes back updated": {
			observed: RollingOut(Next(3, onDelete), Pod(0), Pod(1, Terminating), Pod(2)),
			want:     "+3 new",
		},
		"OnDelete: a pod that is marked for deletion comes back updated": {
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
			if got := ActionsOf(plan.Make(test.observed)); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
