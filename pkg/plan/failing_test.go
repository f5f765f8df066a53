package plan

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// inPlaceTo makes a pod one that was changed in place to this image a while ago, after so many restarts.
func inPlaceTo(name string, restarts int32, ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		of(name)(p)
		note, _ := json.Marshal(record{
			Revision: p.Labels[v1.LabelRevision], At: now.Add(-ago),
			Containers: map[string]containerBefore{"app": {ImageID: "id-before", Restarts: restarts, From: "nginx"}},
		})
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1.AnnotationInPlace, string(note))
	}
}

func TestIsFailing(t *testing.T) {
	graceOf := func(seconds int32) func(*v1.PodManager) {
		return func(m *v1.PodManager) { m.Spec.FailurePolicy.GracePeriodSeconds = &seconds }
	}
	starts := container(waiting("ContainerCreating", ""), corev1.ContainerState{})
	initCrash := func(p *corev1.Pod) {
		notReady(p)
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 1}}
	}
	tests := map[string]struct {
		manager *v1.PodManager
		pod     *corev1.Pod
		want    bool
	}{
		"a pod that is ready":               {pod: pod(0)},
		"a pod that is not ready yet":       {pod: pod(0, notReady)},
		"a pod that is being started":       {pod: pod(0, starts)},
		"pending":                           {pod: pod(0, phase(corev1.PodPending))},
		"crash loop":                        {pod: pod(0, crashing), want: true},
		"image cannot be had":               {pod: pod(0, container(waiting("ImagePullBackOff", ""), corev1.ContainerState{})), want: true},
		"configuration cannot be had":       {pod: pod(0, container(waiting("CreateContainerConfigError", ""), corev1.ContainerState{})), want: true},
		"just ended with an error":          {pod: pod(0, container(ended("Error", 1), corev1.ContainerState{})), want: true},
		"an init container that crashes":    {pod: pod(0, initCrash), want: true},
		"Failed":                            {pod: failed(0, time.Second, 0), want: true},
		"in the place of one that failed":   {pod: pod(0, notReady, after(1)), want: true},
		"it has proved itself by now":       {pod: pod(0, after(1))},
		"up again, but for how long":        {pod: pod(0, crashed(1, 40*time.Second), readyFor(29*time.Second)), want: true},
		"up again for long enough":          {pod: pod(0, crashed(1, 40*time.Second), readyFor(30*time.Second))},
		"long enough includes minReady":     {manager: manager(3, func(m *v1.PodManager) { m.Spec.MinReadySeconds = 60 }), pod: pod(0, crashed(1, time.Hour), readyFor(89*time.Second)), want: true},
		"the grace period is the user's":    {manager: manager(3, graceOf(300)), pod: pod(0, crashed(1, time.Hour), readyFor(299*time.Second)), want: true},
		"without grace, ready is enough":    {manager: manager(3, graceOf(0)), pod: pod(0, crashed(1, time.Hour), readyFor(0))},
		"down again after it had recovered": {pod: pod(0, crashed(1, time.Hour), notReady), want: true},
		"the restart of a change in place":  {pod: pod(0, notReady, inPlaceTo("v2", 0, time.Minute), crashed(1, time.Minute))},
		"one more than that":                {pod: pod(0, notReady, inPlaceTo("v2", 0, time.Minute), crashed(2, time.Minute)), want: true},
		"restarts before a change in place": {pod: pod(0, notReady, inPlaceTo("v2", 5, time.Minute), crashed(6, time.Minute))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.manager == nil {
				test.manager = manager(3)
			}
			if got := isFailing(test.manager, test.pod, now); got != test.want {
				t.Errorf("failing: %v", got)
			}
		})
	}
}

// A pod that crashes every minute, and is ready in between, is failing at any time: what it has done does not flap.
func TestFlappingIsFailing(t *testing.T) {
	for second := range 120 {
		p := pod(0, v2)
		up := second%60 >= 20
		crashed(int32(1+second/60), time.Duration(second%60)*time.Second)(p)
		if up {
			readyFor(time.Duration(second%60-20) * time.Second)(p)
		} else {
			notReady(p)
		}
		// It is up for 40 seconds, and would have to be for longer.
		grace := int32(45)
		m := manager(1, func(m *v1.PodManager) { m.Spec.FailurePolicy.GracePeriodSeconds = &grace })
		if !isFailing(m, p, now) {
			t.Fatalf("after %d s, ready %v, it does not count as failing", second, up)
		}
	}
}

func TestIsCondemned(t *testing.T) {
	since := func(ago time.Duration) time.Time { return now.Add(-ago) }
	tests := map[string]struct {
		pod   *corev1.Pod
		since time.Time
		want  bool
	}{
		"it has time to recover":                       {pod: pod(0, crashing), since: since(29 * time.Second)},
		"which is over":                                {pod: pod(0, crashing), since: since(30 * time.Second), want: true},
		"it is up when the time is over":               {pod: pod(0, crashed(1, 40*time.Second)), since: since(time.Minute)},
		"it was, and has crashed since":                {pod: pod(0, crashed(2, 10*time.Second)), since: since(time.Minute), want: true},
		"a crash from before the time was over is old": {pod: pod(0, crashed(2, 31*time.Second)), since: since(time.Minute)},
		"a pod that has ended cannot recover":          {pod: failed(0, time.Minute, 0), since: since(time.Minute), want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := isCondemned(manager(3), test.pod, test.since, now); got != test.want {
				t.Errorf("condemned: %v", got)
			}
		})
	}
}

func TestFailureOf(t *testing.T) {
	tests := map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"none":                       {},
		"crash loop, down":           {pods: []*corev1.Pod{pod(0, crashing)}, want: "web-0: container app: CrashLoopBackOff: Error, exit code 3"},
		"crash loop, up":             {pods: []*corev1.Pod{pod(0, crashed(2, time.Second))}, want: "web-0: container app: CrashLoopBackOff: Error, exit code 1"},
		"crashed once":               {pods: []*corev1.Pod{pod(0, crashed(1, time.Second))}, want: "web-0: container app: Error, exit code 1"},
		"image":                      {pods: []*corev1.Pod{pod(0, container(waiting("ErrImagePull", "no such image"), corev1.ContainerState{}))}, want: "web-0: container app: ErrImagePull: no such image"},
		"evicted":                    {pods: []*corev1.Pod{pod(0, phase(corev1.PodFailed), evicted)}, want: "web-0 has failed: Evicted: low on memory"},
		"the first by index":         {pods: []*corev1.Pod{pod(10, crashing), pod(9, crashing)}, want: "web-9: container app: CrashLoopBackOff: Error, exit code 3"},
		"one that says more":         {pods: []*corev1.Pod{pod(0, after(1)), pod(1, crashing)}, want: "web-1: container app: CrashLoopBackOff: Error, exit code 3"},
		"nothing but its annotation": {pods: []*corev1.Pod{pod(0, after(1))}, want: "web-0: takes the place of a pod that has failed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := failureOf(test.pods); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func evicted(p *corev1.Pod) { p.Status.Reason, p.Status.Message = "Evicted", "low on memory" }

func TestFailureOfDoesNotDependOnTheOrderGiven(t *testing.T) {
	a, b := pod(0, after(1)), pod(1, after(1))
	if one, other := failureOf([]*corev1.Pod{a, b}), failureOf([]*corev1.Pod{b, a}); one != other {
		t.Errorf("%q, or %q", one, other)
	}
}
