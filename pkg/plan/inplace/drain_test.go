package inplace_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/compare"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// The grace period begins when the pod's endpoint leaves its Services, which is when the kubelet answers the closed gate with Ready=False.
func TestNextStepWhileDraining(t *testing.T) {
	const grace = 20
	ready := func(status corev1.ConditionStatus, ago time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(Now.Add(-ago)),
			}}
		}
	}
	closed := func(ago time.Duration) func(*corev1.Pod) { return Gated(corev1.ConditionFalse, ago) }
	tests := map[string]struct {
		pod  *corev1.Pod
		step Step
		wait time.Duration
	}{
		"the gate is open":                      {pod: Pod(0, Open), step: StepDrain},
		"the kubelet has not answered":          {pod: Pod(0, ready(corev1.ConditionTrue, time.Hour), closed(5*time.Second)), wait: 25 * time.Second},
		"the kubelet answered a moment later":   {pod: Pod(0, ready(corev1.ConditionFalse, 3*time.Second), closed(5*time.Second)), wait: 19 * time.Second},
		"the kubelet answered at once":          {pod: Pod(0, ready(corev1.ConditionFalse, 5*time.Second), closed(5*time.Second)), wait: 17 * time.Second},
		"the answer is rounded down":            {pod: Pod(0, ready(corev1.ConditionFalse, 6*time.Second), closed(5*time.Second)), wait: 16 * time.Second},
		"the pod was not ready a moment before": {pod: Pod(0, ready(corev1.ConditionFalse, 7*time.Second), closed(5*time.Second)), wait: 15 * time.Second},
		"the pod was not ready before":          {pod: Pod(0, ready(corev1.ConditionFalse, time.Hour), closed(5*time.Second)), wait: 15 * time.Second},
		"the pod has no Ready condition":        {pod: Pod(0, NotReady, closed(5*time.Second)), wait: 15 * time.Second},
		"the grace period is over":              {pod: Pod(0, ready(corev1.ConditionFalse, 22*time.Second), closed(25*time.Second)), step: StepUpdate},
		"the grace period is not over":          {pod: Pod(0, ready(corev1.ConditionFalse, 21*time.Second), closed(25*time.Second)), wait: time.Second},
		"the node's clock is an hour ahead":     {pod: Pod(0, ready(corev1.ConditionFalse, -time.Hour), closed(5*time.Second)), wait: 25 * time.Second},
		"the kubelet has not answered for long": {pod: Pod(0, ready(corev1.ConditionTrue, time.Hour), closed(30*time.Second)), step: StepUpdate},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := Manager(3, InPlace(v1.InPlaceIfPossible, grace))
			update := Update{Pod: test.pod}
			if step, wait := update.NextStep(m, Means{}, compare.Diff{Images: map[string]string{"app": "new"}}, Now); step != test.step || wait != test.wait {
				t.Errorf("step %q, wait %v; want %q, %v", step, wait, test.step, test.wait)
			}
		})
	}
}
