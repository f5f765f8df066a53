package inplace_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// The kubelet has to see an update before the next one is sent. The kubelet soon sees an update, even a broken one. So a fix waits neither for a
// crash loop to end nor for an image that cannot be pulled.
func TestNextUpdateWaitsForTheKubelet(t *testing.T) {
	observed := func(state corev1.ContainerState) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			IsIn(state, 3)(p)
			p.Status.ObservedGeneration = p.Generation
		}
	}
	unobserved := func(*corev1.Pod) {}
	image := func(m *v1.PodManager) { m.Spec.Template.Spec.Containers[0].Image = "app:3" }
	labels := func(m *v1.PodManager) { m.Spec.Template.Labels = map[string]string{"tier": "back"} }
	tests := map[string]struct {
		kubelet func(*corev1.Pod)
		next    func(*v1.PodManager)
		want    Step
	}{
		"it has not seen the last one":      {kubelet: unobserved, next: image},
		"it has seen nothing, labels":       {kubelet: unobserved, next: labels, want: StepUpdate},
		"it has seen it":                    {kubelet: observed(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}), next: image, want: StepUpdate},
		"a crash loop":                      {kubelet: observed(Waiting("CrashLoopBackOff", "back-off 5m0s")), next: image, want: StepUpdate},
		"a missing image":                   {kubelet: observed(Waiting("ImagePullBackOff", `Back-off pulling image "app:2"`)), next: image, want: StepUpdate},
		"it reports no observed generation": {kubelet: func(p *corev1.Pod) { p.Status.ObservedGeneration = 0 }, next: image, want: StepUpdate},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			one, two := sizedManager("1", "1Gi"), sizedManager("1", "1Gi", func(m *v1.PodManager) { m.Spec.Template.Spec.Containers[0].Image = "app:2" })
			p := Pod(0, Runs("app:1", "id-1", 0), Labelled(v1.LabelRevision, RevisionFor(one).Hash))
			p.Spec.Containers = one.Spec.Template.DeepCopy().Spec.Containers
			p.Generation, p.Status.ObservedGeneration = 1, 1
			updateTo(t, p, RevisionFor(one), RevisionFor(two))
			test.kubelet(p)
			three := two.DeepCopy()
			test.next(three)
			update := Update{Pod: p, From: RevisionFor(two), To: RevisionFor(three)}
			if step, wait := update.NextStep(three, Capabilities{CanResizeAndDrain: true}, update.Diff(), Now.Add(time.Second)); step != test.want || wait != 0 {
				t.Errorf("step %q, wait %v; want %q", step, wait, test.want)
			}
		})
	}
}

// The kubelet has just restarted a container for an update, and reports the pod as ready too early. The next update of the pod does not restart that
// container, and the pod still does not count as ready before the startup probe was due.
func TestStartupIsAwaitedAcrossUpdates(t *testing.T) {
	tests := map[string]struct {
		// ago is how long ago the container was restarted, restarts how often it was restarted in the end.
		ago      time.Duration
		restarts int32
		want     time.Duration
	}{
		"not due yet":               {ago: 2 * time.Second, restarts: 1, want: 18 * time.Second},
		"it has succeeded":          {ago: 20 * time.Second, restarts: 1},
		"the container has crashed": {ago: 2 * time.Second, restarts: 2}, // after a crash, the kubelet itself waits for the probe
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			one, two := sizedManager("1", "1Gi"), sizedManager("1", "2Gi")
			three := sizedManager("1", "2Gi", func(m *v1.PodManager) { m.Spec.Template.Labels = map[string]string{"tier": "back"} })
			runs := func(restarts int32, ago time.Duration) func(*corev1.Pod) {
				return func(p *corev1.Pod) {
					Runs("app:1", "id-1", restarts)(p)
					p.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Now.Add(-ago))}
				}
			}
			p := Pod(0, runs(0, time.Hour), Labelled(v1.LabelRevision, RevisionFor(one).Hash))
			p.Spec.Containers = one.Spec.Template.DeepCopy().Spec.Containers
			p.Spec.Containers[0].StartupProbe = &corev1.Probe{PeriodSeconds: 5}
			updateTo(t, p, RevisionFor(one), RevisionFor(two))
			runs(1, test.ago)(p)
			p.Status.ObservedGeneration = p.Generation
			updateTo(t, p, RevisionFor(two), RevisionFor(three))
			if runs(test.restarts, test.ago)(p); StatusTrustDelay(p, Now) != test.want {
				t.Errorf("wait %v, want %v: %s", StatusTrustDelay(p, Now), test.want, p.Annotations[v1.AnnotationInPlace])
			}
		})
	}
}
