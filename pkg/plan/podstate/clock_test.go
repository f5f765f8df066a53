package podstate_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// startedBy returns a change to a pod that the scheduler bound an hour ago. The kubelet reports that it started the pod at that moment, by a clock
// that is ahead by this much.
func startedBy(ahead time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		bound := Now.Add(-time.Hour)
		p.Status.StartTime = &metav1.Time{Time: bound.Add(ahead)}
		SetCondition(p, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(bound)})
	}
}

// How long a pod has been ready is measured by the API server's clock, both with all fields of the pod and with the fields that the caches keep.
func TestReadyByWrongClock(t *testing.T) {
	const skew = 15 * time.Minute
	tests := map[string]struct {
		pod  *corev1.Pod
		want time.Duration
	}{
		"a right clock":                        {pod: Pod(0, ReadyFor(time.Minute), startedBy(0), Written(time.Minute)), want: time.Minute},
		"a right clock, written again since":   {pod: Pod(0, ReadyFor(time.Minute), startedBy(0), Written(time.Second)), want: time.Minute},
		"ahead":                                {pod: Pod(0, ReadyFor(time.Minute-skew), startedBy(skew), Written(time.Minute)), want: time.Minute},
		"ahead, written again since":           {pod: Pod(0, ReadyFor(time.Minute-skew), startedBy(skew), Written(time.Second)), want: time.Second},
		"ahead, ready for longer than that":    {pod: Pod(0, ReadyFor(time.Hour-skew), startedBy(skew), Written(time.Second)), want: time.Hour - skew},
		"behind":                               {pod: Pod(0, ReadyFor(time.Minute+skew), startedBy(-skew), Written(time.Minute)), want: time.Minute},
		"behind by what may be rounding":       {pod: Pod(0, ReadyFor(time.Minute), startedBy(-time.Second), Written(time.Minute)), want: time.Minute},
		"ahead, and no managed fields":         {pod: Pod(0, ReadyFor(time.Minute-skew), startedBy(skew)), want: time.Minute - skew},
		"a kubelet that has said nothing else": {pod: Pod(0, ReadyFor(time.Minute), Written(time.Minute)), want: time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			trimmed := test.pod.DeepCopy()
			podstate.Trim(trimmed)
			for what, pod := range map[string]*corev1.Pod{"complete": test.pod, "trimmed": trimmed} {
				if got := Now.Sub(podstate.ReadySince(pod)); got != test.want {
					t.Errorf("%s: ready for %v, want %v", what, got, test.want)
				}
			}
		})
	}
}
