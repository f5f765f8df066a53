package plan_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// restartedWithProbe returns a change that gives a pod a container with a startup probe of this period. An update in place restarted the container
// that long ago, and the kubelet reports the pod as ready.
func restartedWithProbe(period int32, ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		InPlaceTo("v2", 0, ago+time.Second)(p)
		p.Spec.Containers[0].StartupProbe = &corev1.Probe{PeriodSeconds: period}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", ImageID: "id-after", RestartCount: 1, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Now.Add(-ago))}}}}
	}
}

// restartedByResize is restartedWithProbe for an update that is not complete: the kubelet has restarted the container for the resize, and the pod
// still has its old revision.
func restartedByResize(period int32, ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		restartedWithProbe(period, ago)(p)
		OfImage("nginx")(p)
		p.Annotations[v1.AnnotationInPlace] = strings.Replace(p.Annotations[v1.AnnotationInPlace], "{", `{"begun":true,`, 1)
	}
}

// After a restart, a kubelet reports too early that a container with a startup probe has started. The pod does not count as ready before the probe
// was due.
func TestStartupProbeIsAwaited(t *testing.T) {
	possible, graceful := InPlace(v1.InPlaceIfPossible, 0), InPlace(v1.InPlaceIfPossible, 30)
	one, surge := Limits("0", "1"), Limits("1", "0")
	tests := map[string]struct {
		observed Observed
		moves    string
		ready    int32
		again    time.Duration
		message  string
	}{
		"not due yet": {
			observed: RollingOut(Next(2, possible, one), Pod(0), Pod(1, restartedWithProbe(5, 2*time.Second))),
			ready:    1, again: 18 * time.Second,
			message: "1 of 2 pods updated, 1 available; web-1: updated in place, waiting for its startup probe",
		},
		"not due yet after a resize, before the image changes": {
			observed: RollingOut(Next(3, possible, one), Pod(0), Pod(1), Pod(2, restartedByResize(5, 2*time.Second))),
			moves:    "Update 2", ready: 2, again: 18 * time.Second,
			message: "0 of 3 pods updated, 2 available; web-2: updated in place, waiting for its startup probe",
		},
		"the default period": {
			observed: RollingOut(Next(2, possible, one), Pod(0), Pod(1, restartedWithProbe(0, 2*time.Second))),
			ready:    1, again: 23 * time.Second,
			message: "1 of 2 pods updated, 1 available; web-1: updated in place, waiting for its startup probe",
		},
		"it has succeeded": {
			observed: RollingOut(Next(2, possible, one), Pod(0), Pod(1, restartedWithProbe(5, 20*time.Second))),
			moves:    "Update 0", ready: 2,
			message: "1 of 2 pods updated, 2 available",
		},
		"it starts for the first time": {
			observed: RollingOut(Next(2, possible, one), Pod(0), Pod(1, restartedWithProbe(5, 2*time.Second), func(p *corev1.Pod) {
				p.Status.ContainerStatuses[0].RestartCount = 0
			})),
			moves: "Update 0", ready: 2,
			message: "1 of 2 pods updated, 2 available",
		},
		"the node's clock is an hour ahead": {
			observed: RollingOut(Next(2, possible, one), Pod(0), Pod(1, restartedWithProbe(5, -time.Hour), Written(3*time.Minute))),
			moves:    "Update 0", ready: 2,
			message: "1 of 2 pods updated, 2 available",
		},
		"of the last pod": {
			observed: RollingOut(Next(2, possible, one), Pod(0, V2), Pod(1, restartedWithProbe(5, 2*time.Second))),
			ready:    1, again: 18 * time.Second,
			message: "1 of 2 pods ready; web-1: updated in place, waiting for its startup probe",
		},
		"a surge pod stays for it": {
			observed: RollingOut(Next(2, possible, surge), Pod(0, InPlaceTo("v2", 0, time.Hour), Runs("v2", "id-after", 1)),
				Pod(1, restartedWithProbe(5, 2*time.Second)), Pod(2, V2)),
			ready: 2, again: 18 * time.Second,
			message: "3 pods exist, 2 wanted",
		},
		"the gate stays closed": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, Closed, restartedWithProbe(5, 2*time.Second))),
			ready:    1, again: 18 * time.Second,
			message: "1 of 2 pods updated, 1 available; web-1: out of its Services for an update in place",
		},
		"the gate is opened": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, Closed, restartedWithProbe(5, 20*time.Second))),
			moves:    "Open 1", ready: 1,
			message: "1 of 2 pods updated, 1 available; web-1: out of its Services for an update in place",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Make(test.observed)
			if got := ActionsOf(plan); got != test.moves {
				t.Errorf("moves %q, want %q", got, test.moves)
			}
			report := ReportOf(test.observed)
			got, again := status.Compute(report)
			if got.ReadyReplicas != test.ready || got.AvailableReplicas != test.ready {
				t.Errorf("%d ready, %d available, want %d", got.ReadyReplicas, got.AvailableReplicas, test.ready)
			}
			if test.again > 0 && Until(again) != test.again {
				t.Errorf("again %v, want %v", Until(again), test.again)
			}
			if ready := meta.FindStatusCondition(got.Conditions, v1.ConditionReady); ready.Message != test.message {
				t.Errorf("message %q, want %q", ready.Message, test.message)
			}
		})
	}
}
