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

func graceOf(seconds int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.FailurePolicy.GracePeriodSeconds = &seconds }
}

// What a pod shows that was not known to be failing.
func TestShowsFailure(t *testing.T) {
	starts := container(waiting("ContainerCreating", ""), corev1.ContainerState{})
	initCrash := func(p *corev1.Pod) {
		notReady(p)
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 1}}
	}
	young := createdAgo(10 * time.Second)
	ahead := func(p *corev1.Pod) { // a node's clock
		p.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(now.Add(time.Hour))
	}
	tests := map[string]struct {
		manager *v1.PodManager
		pod     *corev1.Pod
		want    bool
	}{
		"a pod that is ready":                {pod: pod(0)},
		"a pod that is not ready yet":        {pod: pod(0, notReady)},
		"a pod that is being started":        {pod: pod(0, starts)},
		"pending":                            {pod: pod(0, phase(corev1.PodPending))},
		"crash loop":                         {pod: pod(0, crashing), want: true},
		"image cannot be had":                {pod: pod(0, container(waiting("ImagePullBackOff", ""), corev1.ContainerState{})), want: true},
		"configuration cannot be had":        {pod: pod(0, container(waiting("CreateContainerConfigError", ""), corev1.ContainerState{})), want: true},
		"just ended with an error":           {pod: pod(0, container(ended("Error", 1), corev1.ContainerState{})), want: true},
		"an init container that crashes":     {pod: pod(0, initCrash), want: true},
		"in the place of one that failed":    {pod: pod(0, notReady, after(1), young), want: true},
		"a while ago":                        {pod: pod(0, notReady, after(1))},
		"and changed in place since":         {pod: pod(0, notReady, after(1), young, inPlaceTo("v2", 0, time.Second), crashed(1, time.Second))},
		"up again, but for how long":         {pod: pod(0, crashed(1, 29*time.Second)), want: true},
		"up again for long enough":           {pod: pod(0, crashed(1, 30*time.Second))},
		"long enough includes minReady":      {manager: manager(3, func(m *v1.PodManager) { m.Spec.MinReadySeconds = 60 }), pod: pod(0, crashed(1, 89*time.Second)), want: true},
		"the grace period is the user's":     {manager: manager(3, graceOf(300)), pod: pod(0, crashed(1, 299*time.Second)), want: true},
		"without grace, up is enough":        {manager: manager(3, graceOf(0)), pod: pod(0, crashed(1, 0))},
		"up again, by a clock that is ahead": {pod: pod(0, crashed(1, time.Minute), ahead), want: true},
		"unready ten days after a crash":     {pod: pod(0, crashed(1, 240*time.Hour), notReady)},
		"the restart of a change in place":   {pod: pod(0, notReady, inPlaceTo("v2", 0, time.Minute), crashed(1, time.Second))},
		"one more than that":                 {pod: pod(0, notReady, inPlaceTo("v2", 0, time.Minute), crashed(2, time.Second)), want: true},
		"restarts before a change in place":  {pod: pod(0, notReady, inPlaceTo("v2", 5, time.Minute), crashed(6, time.Second))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.manager == nil {
				test.manager = manager(3)
			}
			if got := showsFailure(test.manager, test.pod); got != test.want {
				t.Errorf("failing: %v", got)
			}
		})
	}
}

// A pod that crashes every minute, and is ready in between, is failing at any time: what is known of it does not flap.
func TestFlappingIsFailing(t *testing.T) {
	s := tell(t, next(3, graceOf(45)), pod(0), pod(1), pod(2, v2))
	for second := range 180 {
		p := s.pods[2]
		up := second%60 >= 20
		crashed(int32(1+second/60), 0)(p)
		p.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(s.start.Add(time.Duration(second/60*60+20) * time.Second))
		if up { // for 40 seconds, and it would have to be for longer
			readyFor(0)(p)
		} else {
			crashing(p)
			p.Status.ContainerStatuses[0].RestartCount = int32(1 + second/60)
		}
		if status := s.after(time.Second); len(status.Rollout.Failing) != 1 {
			t.Fatalf("after %d s, ready %v, it does not count as failing", second, up)
		}
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
