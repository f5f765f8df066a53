package inplace_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// The kubelet gets another image only after it has carried out a resize, or has reported that it does not.
func TestImageWaitsForResize(t *testing.T) {
	withImage := func(m *v1.PodManager) { m.Spec.Template.Spec.Containers[0].Image = "app:2" }
	one, cpu, memory := sizedManager("1", "1Gi"), sizedManager("2", "1Gi"), sizedManager("1", "2Gi")
	both, restarting := sizedManager("2", "1Gi", withImage), sizedManager("1", "2Gi", withImage)
	observed := func(p *corev1.Pod) { p.Status.ObservedGeneration = p.Generation }
	reports := func(kind corev1.PodConditionType, reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			observed(p)
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason})
		}
	}
	restarted := func(p *corev1.Pod) { observed(p); Runs("app:1", "id-1", 1)(p) }
	updated := func(p *corev1.Pod) { updateTo(t, p, RevisionFor(one), RevisionFor(cpu)) }
	next := sizedManager("2", "1Gi", func(m *v1.PodManager) { m.Spec.Template.Spec.Containers[0].Image = "app:3" })
	deferred := func(p *corev1.Pod) {
		updated(p)
		reports(corev1.PodResizePending, corev1.PodReasonDeferred)(p)
		updateTo(t, p, RevisionFor(cpu), RevisionFor(both))
	}
	old := func(p *corev1.Pod) { p.Status.ObservedGeneration = 0 }
	fresh := func() *corev1.Pod {
		p := interrupted(one, cpu, 1, false)
		p.Annotations = nil
		return p
	}
	tests := map[string]struct {
		pod      *corev1.Pod
		then     func(*corev1.Pod)
		from, to *v1.PodManager
		want     Step
		// wait is the time until the next sync. The test asks for the next step a second after the update, plus after.
		wait, after time.Duration
	}{
		"resized first":                            {pod: fresh(), from: one, to: both, want: StepResize},
		"begun, but not resized":                   {pod: interrupted(one, both, 1, false), from: one, to: both, want: StepResize},
		"not observed":                             {pod: interrupted(one, both, 2, false), from: one, to: both},
		"in progress":                              {pod: interrupted(one, both, 2, false), then: reports(corev1.PodResizeInProgress, ""), from: one, to: both},
		"resized":                                  {pod: interrupted(one, both, 2, false), then: observed, from: one, to: both, want: StepUpdate},
		"observed, but not resized":                {pod: interrupted(one, both, 2, false), then: observedWith("1"), from: one, to: both, wait: 29 * time.Second},
		"not resized in half a minute":             {pod: interrupted(one, both, 2, false), then: observedWith("1"), from: one, to: both, after: 29 * time.Second, want: StepUpdate},
		"observed, and resized":                    {pod: interrupted(one, both, 2, false), then: observedWith("2"), from: one, to: both, want: StepUpdate},
		"deferred":                                 {pod: interrupted(one, both, 2, false), then: reports(corev1.PodResizePending, corev1.PodReasonDeferred), from: one, to: both, want: StepUpdate},
		"infeasible":                               {pod: interrupted(one, both, 2, false), then: reports(corev1.PodResizePending, corev1.PodReasonInfeasible), from: one, to: both, want: StepUpdate},
		"failed":                                   {pod: interrupted(one, both, 2, false), then: reports(corev1.PodResizeInProgress, corev1.PodReasonError), from: one, to: both, want: StepUpdate},
		"the resize has yet to restart":            {pod: interrupted(one, restarting, 2, false), then: observed, from: one, to: restarting, wait: 29 * time.Second},
		"no restart in half a minute":              {pod: interrupted(one, restarting, 2, false), then: observed, from: one, to: restarting, after: 29 * time.Second, want: StepUpdate},
		"the resize has restarted the container":   {pod: interrupted(one, restarting, 2, false), then: restarted, from: one, to: restarting, want: StepUpdate},
		"an interrupted resize to another":         {pod: interrupted(one, memory, 2, false), then: restarted, from: one, to: both, want: StepResize},
		"no other image":                           {pod: fresh(), from: one, to: cpu, want: StepUpdate},
		"no resize":                                {pod: fresh(), from: one, to: sizedManager("1", "1Gi", withImage), want: StepUpdate},
		"an image after a resize":                  {pod: fresh(), then: updated, from: cpu, to: both},
		"an image after a resize that is observed": {pod: fresh(), then: func(p *corev1.Pod) { updated(p); observed(p) }, from: cpu, to: both, want: StepUpdate},
		"a second image during a deferred resize":  {pod: fresh(), then: deferred, from: both, to: next},
		"the first of them is observed":            {pod: fresh(), then: func(p *corev1.Pod) { deferred(p); observed(p) }, from: both, to: next, want: StepUpdate},
		"and the resize perhaps taken up": {pod: fresh(), then: func(p *corev1.Pod) {
			deferred(p)
			DropCondition(p, corev1.PodResizePending)
			observedWith("1")(p)
		}, from: both, to: next, wait: 29 * time.Second},
		"a kubelet that reports no observed generation": {pod: fresh(), then: old, from: one, to: both, want: StepUpdate},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.then != nil {
				test.then(test.pod)
			}
			update := Update{Pod: test.pod, From: RevisionFor(test.from), To: RevisionFor(test.to)}
			step, wait := update.NextStep(test.to, Capabilities{CanResizeAndDrain: true}, update.Diff(), Now.Add(time.Second+test.after))
			if step != test.want || wait != test.wait {
				t.Errorf("step %q, wait %v; want %q", step, wait, test.want)
			}
		})
	}
}

// The update of a pod is interrupted after its resize, and so is the attempt to revert that. A kubelet that reports no observed generation does not show
// whether it has carried out the resize. So if the container is restarted, its startup probe is awaited.
func TestRestoreIsInterrupted(t *testing.T) {
	probed := func(m *v1.PodManager) {
		m.Spec.Template.Spec.Containers[0].StartupProbe = &corev1.Probe{PeriodSeconds: 5}
	}
	before, after := sizedManager("1", "1Gi", probed), sizedManager("1", "2Gi", probed)
	runs := func(p *corev1.Pod, restarts int32) {
		Runs("app:1", "id-1", restarts)(p)
		p.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Now)}
	}
	p := interrupted(before, after, 2, true)
	p.Status.ObservedGeneration = 0
	runs(p, 1)
	resize, err := Update{Pod: p, Step: StepRestore, From: RevisionFor(before), To: RevisionFor(before)}.ResizePatch()
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, resize)
	restore(t, p, before)
	if StatusTrustDelay(p, Now) == 0 {
		t.Error("reverted: the pod counts as ready before the probe of the restarted container was due")
	}
	if runs(p, 2); StatusTrustDelay(p, Now) == 0 {
		t.Error("restarted again: the pod counts as ready before the probe of the restarted container was due")
	}
}

// observedWith returns a change to the status: the kubelet has seen the update, and the container has this much CPU.
func observedWith(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ObservedGeneration = p.Generation
		p.Status.ContainerStatuses[0].Resources = new(Amounts(corev1.ResourceCPU, cpu, ""))
	}
}

// refuse records on the pod that the API server has refused to update it.
func refuse(t *testing.T, update Update) {
	t.Helper()
	patch, err := update.RefusalPatch(requeue.Failure{Reason: v1.ReasonInvalidPod, Message: "no"}, false, Now)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(update.Pod, patch)
}

// A resize without a restart is complete when the container has its new amounts. The kubelet may report earlier that it has seen the resize.
func TestResizeIsDone(t *testing.T) {
	tests := map[string]struct {
		status func(*corev1.Pod)
		later  time.Duration
		want   time.Duration
	}{
		"the old amount":                {status: observedWith("1"), want: 30 * time.Second},
		"the old amount after a moment": {status: observedWith("1"), later: 10 * time.Second, want: 20 * time.Second},
		"the old amount for ever":       {status: observedWith("1"), later: time.Minute},
		"the old amount, and a later update was refused": {status: func(p *corev1.Pod) {
			observedWith("1")(p)
			refuse(t, Update{Pod: p, Step: StepUpdate, From: RevisionFor(sizedManager("2", "1Gi")), To: RevisionFor(sizedManager("3", "1Gi"))})
		}, want: 30 * time.Second},
		"the old amount, and labels were changed since": {status: func(p *corev1.Pod) {
			more := sizedManager("2", "1Gi", func(m *v1.PodManager) { m.Spec.Template.Labels = map[string]string{"tier": "back"} })
			updateTo(t, p, RevisionFor(sizedManager("2", "1Gi")), RevisionFor(more))
			observedWith("1")(p)
		}, want: 30 * time.Second},
		"the new amount":                            {status: observedWith("2")},
		"the same amount in other units":            {status: observedWith("2000m")},
		"a kubelet that does not report any amount": {status: func(p *corev1.Pod) { p.Status.ObservedGeneration = p.Generation }},
		"deferred: a condition says it": {status: func(p *corev1.Pod) {
			observedWith("1")(p)
			Resizing(corev1.PodResizePending, corev1.PodReasonDeferred)(p)
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := interrupted(sizedManager("1", "1Gi"), sizedManager("2", "1Gi"), 1, false)
			p.Annotations = nil
			updateTo(t, p, RevisionFor(sizedManager("1", "1Gi")), RevisionFor(sizedManager("2", "1Gi")))
			test.status(p)
			trimmed := p.DeepCopy()
			podstate.Trim(trimmed)
			for what, pod := range map[string]*corev1.Pod{"complete": p, "trimmed": trimmed} {
				if got := StatusTrustDelay(pod, Now.Add(test.later)); got != test.want {
					t.Errorf("%s: the resize counts as done after %v, want %v", what, got, test.want)
				}
			}
		})
	}
}

// The patch that completes an update after StepResize does not resize the pod again. It fails if another client has changed the pod since, because
// the resize may have been reverted.
func TestPatchAfterResize(t *testing.T) {
	one := sizedManager("1", "1Gi")
	both := sizedManager("2", "1Gi", func(m *v1.PodManager) { m.Spec.Template.Spec.Containers[0].Image = "app:2" })
	for requests, resized := range map[int]bool{1: false, 2: true} {
		p := interrupted(one, both, requests, false)
		p.ResourceVersion = "42"
		update := Update{Pod: p, Step: StepUpdate, From: RevisionFor(one), To: RevisionFor(both)}
		resize, err := update.ResizePatch()
		if err != nil || (resize == nil) != resized {
			t.Errorf("after %d requests the pod is resized by %s, error %v", requests, resize, err)
		}
		patch, err := update.Patch(both, Now)
		if err != nil || strings.Contains(string(patch), `"resourceVersion":"42"`) != resized {
			t.Errorf("after %d requests the update is completed by %s, error %v", requests, patch, err)
		}
	}
}
