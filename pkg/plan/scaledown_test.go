package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func maxTerminating(value string) func(*v1.PodManager) {
	parsed := intstr.Parse(value)
	return func(m *v1.PodManager) { m.Spec.ScaleDown = &v1.ScaleDown{MaxTerminating: &parsed} }
}

func marked(p *corev1.Pod) { annotated(v1.AnnotationDelete, "true")(p) }

func complete(m *v1.PodManager) { m.Spec.PodReplacementPolicy = v1.TerminationComplete }

func TestScaleDown(t *testing.T) {
	five := []*corev1.Pod{pod(0), pod(1), pod(2), pod(3), pod(4)}
	tests := map[string]struct {
		observed Observed
		want     want
	}{
		"without a limit all go at once": {
			observed: observe(manager(1), five...),
			want:     want{remove: []string{"web-1", "web-2", "web-3", "web-4"}, why: WhySurplus},
		},
		"two at a time": {
			observed: observe(manager(1, finalizing, maxTerminating("2")), five...),
			want:     want{remove: []string{"web-3", "web-4"}, why: WhySurplus},
		},
		"those that are going count": {
			observed: observe(manager(1, finalizing, maxTerminating("2")), pod(0), pod(1), pod(2), pod(3), pod(4, terminating)),
			want:     want{remove: []string{"web-3"}, why: WhySurplus},
		},
		"the limit is reached": {
			observed: observe(manager(1, finalizing, maxTerminating("1")), pod(0), pod(1), pod(2, terminating)),
		},
		"a percentage is of the pods there are, rounded up": {
			observed: observe(manager(0, finalizing, maxTerminating("50%")), five...),
			want:     want{remove: []string{"web-2", "web-3", "web-4"}, why: WhySurplus},
		},
		"one may always go": {
			observed: observe(manager(0, finalizing, maxTerminating("1%")), five...),
			want:     want{remove: []string{"web-4"}, why: WhySurplus},
		},
		"the limit holds for the end of the PodManager": {
			observed: observe(manager(5, deleting, finalizing, maxTerminating("2")), pod(0), pod(1), pod(2), pod(3, terminating)),
			want:     want{remove: []string{"web-2"}, why: WhyFinalize},
		},
		"pods that have ended do not count": {
			observed: observe(manager(1, deleting, finalizing, maxTerminating("1")), pod(0), pod(1, phase(corev1.PodFailed)), pod(2, phase(corev1.PodFailed))),
			want:     want{remove: []string{"web-0", "web-1", "web-2"}, why: WhyFinalize},
		},
		"a marked pod is replaced": {
			observed: observe(manager(4), pod(0), pod(1, marked), pod(2), pod(3)),
			want:     want{remove: []string{"web-1"}, why: WhyMarked, create: []int{4}},
		},
		"marked pods go within the budget": {
			observed: observe(manager(8), pod(0, marked), pod(1, marked), pod(2, marked), pod(3, marked), pod(4, marked), pod(5), pod(6), pod(7)),
			want:     want{remove: []string{"web-3", "web-4"}, why: WhyMarked, create: []int{8, 9}},
		},
		"one that does not serve costs nothing": {
			observed: observe(manager(3), pod(0), pod(1, marked, notReady), pod(2)),
			want:     want{remove: []string{"web-1"}, why: WhyMarked, create: []int{3}},
		},
		"where no pod may be missing, another one comes first": {
			observed: observe(manager(3), pod(0, marked), pod(1, marked), pod(2)),
			want:     want{create: []int{3}},
		},
		"and has to be available": {
			observed: observe(manager(3), pod(0, marked), pod(1, marked), pod(2), pod(3, notReady)),
		},
		"then one goes": {
			observed: observe(manager(3), pod(0, marked), pod(1, marked), pod(2), pod(3)),
			want:     want{remove: []string{"web-1"}, why: WhySurplus, create: []int{4}},
		},
		"strategies without limits take a few at a time": {
			observed: observe(manager(4, strategy(v1.OnDeleteStrategy)), pod(0, marked), pod(1, marked), pod(2, marked), pod(3, marked)),
			want:     want{remove: []string{"web-3"}, why: WhyMarked, create: []int{4}},
		},
		"a marked pod goes first, before one that is not even scheduled": {
			observed: observe(manager(2), pod(0), pod(1, marked), pod(2), pod(3, onNode(""), phase(corev1.PodPending))),
			want:     want{remove: []string{"web-1", "web-3"}, why: WhySurplus},
		},
		"a marked pod that is going is not replaced twice": {
			observed: observe(manager(3), pod(0), pod(1, marked, terminating), pod(2), pod(3)),
		},
		"marked pods keep to the limit": {
			observed: observe(manager(8, finalizing, maxTerminating("1")), pod(0, marked), pod(1, marked), pod(2), pod(3), pod(4), pod(5), pod(6), pod(7)),
			want:     want{remove: []string{"web-1"}, why: WhyMarked, create: []int{8}},
		},
		"any other value marks nothing": {
			observed: observe(manager(1), pod(0, annotated(v1.AnnotationDelete, "false"))),
		},
		"replacing waits for the end where it has to": {
			observed: observe(manager(3, complete), pod(0), pod(1, terminating), pod(2)),
		},
		"and for that of marked pods": {
			observed: observe(manager(4, complete), pod(0), pod(1, marked), pod(2), pod(3)),
			want:     want{remove: []string{"web-1"}, why: WhyMarked},
		},
		"but not for more than are missing": {
			observed: observe(manager(5, complete), pod(0), pod(1, terminating), pod(2)),
			want:     want{create: []int{3, 4}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, Make(test.observed), test.want)
		})
	}
}

func TestMarkedBeyondTheSurplus(t *testing.T) {
	plan := Make(observe(manager(2, limits("0", "1")), pod(0, marked), pod(1, marked), pod(2)))
	if len(plan.Delete) != 2 || len(plan.Create) != 1 {
		t.Fatalf("deletes %d and creates %d, want 2 and 1", len(plan.Delete), len(plan.Create))
	}
	if plan.Delete[0].Why != WhySurplus || plan.Delete[1].Why != WhyMarked {
		t.Errorf("deletes %v", plan.Delete)
	}
}
