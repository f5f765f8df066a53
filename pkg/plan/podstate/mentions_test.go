package podstate_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// A longer name that begins with the name of the image is that of another image.
func TestMentionsWholeNames(t *testing.T) {
	for text, want := range map[string]bool{
		`pulling "app"`: true, "pulling app": true, "app: not found": true, "app, which": true,
		"pulling app0": false, "pulling app5": false, "pulling app9": false, "pulling appa": false, "pulling appm": false, "pulling appz": false,
		"pulling appA": false, "pulling appM": false, "pulling appZ": false, "pulling app:1": false, "pulling app/x": false, "pulling app-x": false,
		"app1 and app": true, "nothing": false,
	} {
		if got := podstate.Mentions(text, "app"); got != want {
			t.Errorf("%q mentions app: %v", text, got)
		}
	}
}

// If any time in a pod's status shows that the node's clock is ahead, the caches keep the time at which the API server received the status.
func TestTrimKeepsWhatShowsTheClock(t *testing.T) {
	state := func(state corev1.ContainerState) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: state}}
		}
	}
	running := func(ahead time.Duration) corev1.ContainerState {
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Now.Add(ahead))}}
	}
	ended := func(ahead time.Duration) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(Now.Add(ahead))}}
	}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		kept bool
	}{
		"a right clock":                     {pod: Pod(0, ReadyFor(time.Minute), Written(0), state(running(0)))},
		"a container started in the future": {pod: Pod(0, ReadyFor(time.Minute), Written(0), state(running(time.Hour))), kept: true},
		"a container ended in the future":   {pod: Pod(0, ReadyFor(time.Minute), Written(0), state(ended(time.Hour))), kept: true},
		"a container has ended":             {pod: Pod(0, ReadyFor(time.Minute), Written(0), state(ended(0)))},
		"ready in the future":               {pod: Pod(0, ReadyFor(-time.Minute), Written(0), state(running(0))), kept: true},
		"a container waits, nothing to go":  {pod: Pod(0, ReadyFor(time.Minute), Written(0), state(Waiting("ContainerCreating", "")))},
	} {
		t.Run(name, func(t *testing.T) {
			if podstate.Trim(test.pod); len(test.pod.ManagedFields) > 0 != test.kept {
				t.Errorf("the managed fields that are kept are %v", test.pod.ManagedFields)
			}
		})
	}
}

// Only names that PodName makes have an index.
func TestIndexOf(t *testing.T) {
	for name, want := range map[string]int{
		"web-0": 0, "web-12": 12, "web-": -1, "web": -1, "web-x": -1, "web--1": -1, "web-01": -1, "web-+1": -1, "other-1": -1, "1": -1, "web-1-1": -1,
	} {
		if got := podstate.IndexOf("web", name); got != want {
			t.Errorf("%s has index %d, want %d", name, got, want)
		}
	}
}
