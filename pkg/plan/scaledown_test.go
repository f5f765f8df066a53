package plan_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

func TestScaleDown(t *testing.T) {
	five := []*corev1.Pod{Pod(0), Pod(1), Pod(2), Pod(3), Pod(4)}
	tests := map[string]struct {
		observed Observed
		want     want
	}{
		"without a limit all go at once": {
			observed: Observe(Manager(1), five...),
			want:     want{remove: []string{"web-1", "web-2", "web-3", "web-4"}, why: rollout.WhySurplus},
		},
		"two at a time": {
			observed: Observe(Manager(1, finalizing, MaxTerminating("2")), five...),
			want:     want{remove: []string{"web-3", "web-4"}, why: rollout.WhySurplus},
		},
		"terminating pods count": {
			observed: Observe(Manager(1, finalizing, MaxTerminating("2")), Pod(0), Pod(1), Pod(2), Pod(3), Pod(4, Terminating)),
			want:     want{remove: []string{"web-3"}, why: rollout.WhySurplus},
		},
		"the limit is reached": {
			observed: Observe(Manager(1, finalizing, MaxTerminating("1")), Pod(0), Pod(1), Pod(2, Terminating)),
		},
		"a percentage is of the existing pods, rounded up": {
			observed: Observe(Manager(0, finalizing, MaxTerminating("50%")), five...),
			want:     want{remove: []string{"web-2", "web-3", "web-4"}, why: rollout.WhySurplus},
		},
		"one may always go": {
			observed: Observe(Manager(0, finalizing, MaxTerminating("1%")), five...),
			want:     want{remove: []string{"web-4"}, why: rollout.WhySurplus},
		},
		"the limit holds beside a marked pod that leaves room for its replacement": {
			observed: Observe(Manager(2, finalizing, MaxTerminating("1")), Pod(0), Pod(1, Marked), Pod(2), Pod(3)),
			want:     want{remove: []string{"web-1"}, why: rollout.WhyMarked},
		},
		"the limit holds for the deletion of the PodManager": {
			observed: Observe(Manager(5, Deleting, finalizing, MaxTerminating("2")), Pod(0), Pod(1), Pod(2), Pod(3, Terminating)),
			want:     want{remove: []string{"web-2"}, why: rollout.WhyFinalize},
		},
		"finished pods do not count": {
			observed: Observe(Manager(1, Deleting, finalizing, MaxTerminating("1")), Pod(0), Pod(1, Phase(corev1.PodFailed)), Pod(2, Phase(corev1.PodFailed))),
			want:     want{remove: []string{"web-0", "web-1", "web-2"}, why: rollout.WhyFinalize},
		},
		"a marked pod is replaced": {
			observed: Observe(Manager(4), Pod(0), Pod(1, Marked), Pod(2), Pod(3)),
			want:     want{remove: []string{"web-1"}, why: rollout.WhyMarked, create: []int{4}},
		},
		"marked pods go within maxUnavailable": {
			observed: Observe(Manager(8), Pod(0, Marked), Pod(1, Marked), Pod(2, Marked), Pod(3, Marked), Pod(4, Marked), Pod(5), Pod(6), Pod(7)),
			want:     want{remove: []string{"web-3", "web-4"}, why: rollout.WhyMarked, create: []int{8, 9}},
		},
		"an unavailable marked pod does not count against maxUnavailable": {
			observed: Observe(Manager(3), Pod(0), Pod(1, Marked, NotReady), Pod(2)),
			want:     want{remove: []string{"web-1"}, why: rollout.WhyMarked, create: []int{3}},
		},
		"maxUnavailable 0: a surge pod is created first": {
			observed: Observe(Manager(3), Pod(0, Marked), Pod(1, Marked), Pod(2)),
			want:     want{create: []int{3}},
		},
		"maxUnavailable 0: the surge pod has to become available": {
			observed: Observe(Manager(3), Pod(0, Marked), Pod(1, Marked), Pod(2), Pod(3, NotReady)),
		},
		"maxUnavailable 0: one marked pod goes for an available surge pod": {
			observed: Observe(Manager(3), Pod(0, Marked), Pod(1, Marked), Pod(2), Pod(3)),
			want:     want{remove: []string{"web-1"}, why: rollout.WhyMarked, create: []int{4}},
		},
		"OnDelete: marked pods go a quarter at a time": {
			observed: Observe(Manager(4, Strategy(v1.OnDeleteStrategy)), Pod(0, Marked), Pod(1, Marked), Pod(2, Marked), Pod(3, Marked)),
			want:     want{remove: []string{"web-3"}, why: rollout.WhyMarked, create: []int{4}},
		},
		"a terminating marked pod is not replaced twice": {
			observed: Observe(Manager(3), Pod(0), Pod(1, Marked, Terminating), Pod(2), Pod(3)),
		},
		"marked pods keep to maxTerminating": {
			observed: Observe(Manager(8, finalizing, MaxTerminating("1")), Pod(0, Marked), Pod(1, Marked), Pod(2), Pod(3), Pod(4), Pod(5), Pod(6), Pod(7)),
			want:     want{remove: []string{"web-1"}, why: rollout.WhyMarked, create: []int{8}},
		},
		"any other value marks nothing": {
			observed: Observe(Manager(1), Pod(0, Annotated(v1.AnnotationDelete, "false"))),
		},
		"TerminationComplete: a terminating pod is not replaced": {
			observed: Observe(Manager(3, TerminationComplete), Pod(0), Pod(1, Terminating), Pod(2)),
		},
		"TerminationComplete: a marked pod is not replaced before it is gone": {
			observed: Observe(Manager(4, TerminationComplete), Pod(0), Pod(1, Marked), Pod(2), Pod(3)),
			want:     want{remove: []string{"web-1"}, why: rollout.WhyMarked},
		},
		"TerminationComplete: other missing pods are created": {
			observed: Observe(Manager(5, TerminationComplete), Pod(0), Pod(1, Terminating), Pod(2)),
			want:     want{create: []int{3, 4}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, Make(test.observed), test.want)
		})
	}
}

// A marked pod goes first, even before a pod that is not scheduled. If fewer pods are surplus than are marked, the other marked ones are replaced.
func TestMarkedGoFirst(t *testing.T) {
	unscheduled := Pod(3, OnNode(""), Phase(corev1.PodPending))
	for name, test := range map[string]struct {
		observed Observed
		want     string
		why      []rollout.Why
	}{
		"fewer than surplus": {Observe(Manager(2), Pod(0), Pod(1, Marked), Pod(2), unscheduled), "-1, -3", []rollout.Why{rollout.WhyMarked, rollout.WhySurplus}},
		"more than surplus": {
			Observe(Manager(2, Limits("0", "1")), Pod(0, Marked), Pod(1, Marked), Pod(2)), "+3 new, -1, -0", []rollout.Why{rollout.WhyMarked, rollout.WhyMarked},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Make(test.observed)
			var why []rollout.Why
			for _, deletion := range plan.Delete {
				why = append(why, deletion.Why)
			}
			if got := ActionsOf(plan); got != test.want || !slices.Equal(why, test.why) {
				t.Errorf("%s because of %q; want %s because of %q", got, why, test.want, test.why)
			}
		})
	}
}
