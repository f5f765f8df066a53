package inplace_test

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/compare"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// The grace period begins when the pod's endpoint leaves its Services. That is when the API server learns that the kubelet has responded to the
// closed gate with Ready=False. The kubelet's clock makes no difference.
func TestNextStepWhileDraining(t *testing.T) {
	const grace = 20
	ready := func(status corev1.ConditionStatus, ago time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(Now.Add(-ago)),
			}}
		}
	}
	writes := func(fields string, ago time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{
				Subresource: "status", FieldsV1: metav1.NewFieldsV1(fields), Time: &metav1.Time{Time: Now.Add(-ago)},
			})
		}
	}
	const gateField = `{"f:status":{"f:conditions":{"k:{\"type\":\"apps.mycompany.com/in-place-ready\"}":{"f:status":{}}}}}`
	closed := func(ago time.Duration) func(*corev1.Pod) { return Gated(corev1.ConditionFalse, ago) }
	answered := func(secondsClosed, secondsWritten int) *corev1.Pod {
		gate, write := time.Duration(secondsClosed)*time.Second, time.Duration(secondsWritten)*time.Second
		return Pod(0, ready(corev1.ConditionFalse, write), closed(gate), writes(gateField, gate), Written(write))
	}
	crashing := func(secondsUnready, secondsWritten int, changes ...func(*corev1.Pod)) *corev1.Pod {
		unready, write := time.Duration(secondsUnready)*time.Second, time.Duration(secondsWritten)*time.Second
		return Pod(0, append([]func(*corev1.Pod){ready(corev1.ConditionFalse, 30*time.Second), closesGate(t, 25*time.Second),
			transitionedAgo(unready), Written(write)}, changes...)...)
	}
	skewed := func(skew time.Duration) *corev1.Pod {
		return Pod(0, ready(corev1.ConditionFalse, 3*time.Second+skew), closed(5*time.Second), Written(3*time.Second))
	}
	tests := map[string]struct {
		pod  *corev1.Pod
		step Step
		wait time.Duration
	}{
		"the gate is open":                               {pod: Pod(0, Open), step: StepDrain},
		"the kubelet has not answered":                   {pod: Pod(0, ready(corev1.ConditionTrue, time.Hour), closed(5*time.Second), Written(time.Hour)), wait: 75 * time.Second},
		"the kubelet answered a moment later":            {pod: answered(5, 3), wait: 18 * time.Second},
		"the kubelet answered at once":                   {pod: answered(5, 5), wait: 16 * time.Second},
		"the answer is rounded down":                     {pod: answered(5, 6), wait: 15 * time.Second},
		"the answer came late":                           {pod: answered(9, 1), wait: 20 * time.Second},
		"the answer came very late":                      {pod: answered(40, 10), wait: 11 * time.Second},
		"the pod was not ready a moment before":          {pod: answered(5, 7), wait: 15 * time.Second},
		"the pod was not ready before":                   {pod: answered(5, 3600), wait: 15 * time.Second},
		"the pod has no Ready condition":                 {pod: Pod(0, NotReady, closed(5*time.Second)), wait: 15 * time.Second},
		"the grace period is over":                       {pod: answered(25, 21), step: StepUpdate},
		"the grace period is not over":                   {pod: answered(25, 20), wait: time.Second},
		"the node's clock is an hour ahead":              {pod: skewed(-time.Hour), wait: 18 * time.Second},
		"the node's clock is an hour behind":             {pod: skewed(time.Hour), wait: 18 * time.Second},
		"another client wrote later":                     {pod: Pod(0, ready(corev1.ConditionFalse, 3*time.Second), closed(5*time.Second), Written(3*time.Second), writes(gateField, 0)), wait: 18 * time.Second},
		"the node controller wrote last":                 {pod: Pod(0, ready(corev1.ConditionFalse, time.Second), closed(5*time.Second), Written(time.Hour), Written(time.Second)), wait: 20 * time.Second},
		"it is unknown when the kubelet wrote":           {pod: Pod(0, ready(corev1.ConditionFalse, 3*time.Second), closed(5*time.Second)), wait: 25 * time.Second},
		"the API server's clock is ahead":                {pod: Pod(0, ready(corev1.ConditionFalse, 3*time.Second), closed(5*time.Second), Written(-time.Hour)), wait: 75 * time.Second},
		"the kubelet has not answered for long":          {pod: Pod(0, ready(corev1.ConditionTrue, time.Hour), closed(79*time.Second)), wait: time.Second},
		"the pod was not ready, and crashes again":       {pod: crashing(30, 1), step: StepUpdate},
		"the pod was not ready, and crashed long after":  {pod: crashing(30, 20), step: StepUpdate},
		"the pod was not ready, then ready for a moment": {pod: crashing(10, 10), wait: 11 * time.Second},
		"the pod was not ready, and is ready now":        {pod: crashing(10, 10, ready(corev1.ConditionTrue, 10*time.Second), Gated(corev1.ConditionFalse, 25*time.Second)), wait: 55 * time.Second},
		"the kubelet does not heed gates":                {pod: Pod(0, ready(corev1.ConditionTrue, time.Hour), closed(80*time.Second)), step: StepUpdate},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := Manager(3, InPlace(v1.InPlaceIfPossible, grace))
			update := Update{Pod: test.pod}
			if step, wait := update.NextStep(m, Capabilities{CanResizeAndDrain: true}, compare.Diff{Images: map[string]string{"app": "new"}}, Now); step != test.step || wait != test.wait {
				t.Errorf("step %q, wait %v; want %q, %v", step, wait, test.step, test.wait)
			}
		})
	}
}

// closesGate closes the pod's readiness gate like the controller did this long ago.
func closesGate(t *testing.T, ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		patch, err := Update{Pod: p, Step: StepDrain}.GatePatch(Now.Add(-ago))
		if err != nil {
			t.Fatal(err)
		}
		var closed corev1.Pod
		if err := json.Unmarshal(patch, &closed); err != nil {
			t.Fatal(err)
		}
		Gated(corev1.ConditionFalse, ago)(p)
		p.Status.Conditions[len(p.Status.Conditions)-1] = closed.Status.Conditions[0]
	}
}

// transitionedAgo sets when the pod's condition Ready has changed last.
func transitionedAgo(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(Now.Add(-ago)) }
}
