package rollout_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plan/rollout"
)

func graceOf(seconds int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.FailurePolicy.GracePeriodSeconds = &seconds }
}

// The test checks which pods without a record count as failing.
func TestShowsFailure(t *testing.T) {
	starts := Container(Waiting("ContainerCreating", ""), corev1.ContainerState{})
	initCrash := func(p *corev1.Pod) {
		NotReady(p)
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 1}}
	}
	ahead := func(p *corev1.Pod) { // the node's clock
		p.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(Now.Add(time.Hour))
	}
	tests := map[string]struct {
		manager *v1.PodManager
		pod     *corev1.Pod
		want    bool
	}{
		"a pod that is ready":                            {pod: Pod(0)},
		"a pod that is not ready yet":                    {pod: Pod(0, NotReady)},
		"a pod that is being started":                    {pod: Pod(0, starts)},
		"pending":                                        {pod: Pod(0, Phase(corev1.PodPending))},
		"crash loop":                                     {pod: Pod(0, Crashing), want: true},
		"image cannot be pulled":                         {pod: Pod(0, Container(Waiting("ImagePullBackOff", ""), corev1.ContainerState{})), want: true},
		"missing configuration":                          {pod: Pod(0, Container(Waiting("CreateContainerConfigError", ""), corev1.ContainerState{})), want: true},
		"just ended with an error":                       {pod: Pod(0, Container(Terminated("Error", 1), corev1.ContainerState{})), want: true},
		"an init container that crashes":                 {pod: Pod(0, initCrash), want: true},
		"up again, not for long enough":                  {pod: Pod(0, Crashed(1, 29*time.Second)), want: true},
		"up again for long enough":                       {pod: Pod(0, Crashed(1, 30*time.Second))},
		"long enough includes minReady":                  {manager: Manager(3, func(m *v1.PodManager) { m.Spec.MinReadySeconds = 60 }), pod: Pod(0, Crashed(1, 89*time.Second)), want: true},
		"the grace period is the user's":                 {manager: Manager(3, graceOf(300)), pod: Pod(0, Crashed(1, 299*time.Second)), want: true},
		"without a grace period, up is enough":           {manager: Manager(3, graceOf(0)), pod: Pod(0, Crashed(1, 0))},
		"up again, by a clock that is ahead":             {pod: Pod(0, Crashed(1, time.Minute), ahead), want: true},
		"unready ten days after a crash":                 {pod: Pod(0, Crashed(1, 240*time.Hour), NotReady)},
		"the restart of an update in place":              {pod: Pod(0, NotReady, InPlaceTo("v2", 0, time.Minute), Crashed(1, time.Second))},
		"one restart more than an update in place takes": {pod: Pod(0, NotReady, InPlaceTo("v2", 0, time.Minute), Crashed(2, time.Second)), want: true},
		"restarts before an update in place":             {pod: Pod(0, NotReady, InPlaceTo("v2", 5, time.Minute), Crashed(6, time.Second))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.manager == nil {
				test.manager = Manager(3)
			}
			if got := ShowsFailure(test.manager, test.pod); got != test.want {
				t.Errorf("failing: %v", got)
			}
		})
	}
}

// A pod that crashes every minute, and is ready in between, counts as failing throughout.
func TestFlappingIsFailing(t *testing.T) {
	s := Tell(t, Next(3, graceOf(45)), Pod(0), Pod(1), Pod(2, V2))
	for second := range 180 {
		p := s.Pods[2]
		up := second%60 >= 20
		Crashed(int32(1+second/60), 0)(p)
		p.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(s.Start.Add(time.Duration(second/60*60+20) * time.Second))
		if up { // for 40 seconds; recovery takes 45
			ReadyFor(0)(p)
		} else {
			Crashing(p)
			p.Status.ContainerStatuses[0].RestartCount = int32(1 + second/60)
		}
		if status := s.After(time.Second); len(status.Rollout.Failing) != 1 {
			t.Fatalf("after %d s, ready %v, it does not count as failing", second, up)
		}
	}
}

// A record from before the pod's update in place to its present revision says nothing about that revision. It is left over because the status of the
// rollout in between was never written. If the pod was only restored since, it has the same revision as when it failed.
func TestRecordFromBeforeAnUpdate(t *testing.T) {
	for name, test := range map[string]struct {
		updatedAgo time.Duration
		// fields are further fields of the pod's record of the update.
		fields    string
		condemned bool
	}{
		"the pod failed after the update":                    {updatedAgo: 2 * time.Minute, condemned: true},
		"the pod failed before the update":                   {updatedAgo: 10 * time.Second},
		"the pod failed before it was restored":              {updatedAgo: 10 * time.Second, fields: `"restored":true,`, condemned: true},
		"the pod failed after the update, and was restored":  {updatedAgo: 10 * time.Second, fields: `"restored":true,"revisionAt":"2026-01-02T03:02:05Z",`, condemned: true},
		"the pod failed before the update, and was restored": {updatedAgo: 10 * time.Second, fields: `"restored":true,"revisionAt":"2026-01-02T03:04:00Z",`},
	} {
		t.Run(name, func(t *testing.T) {
			m := Next(3)
			p := Pod(0, NotReady, InPlaceTo("v2", 0, test.updatedAgo), IsIn(Waiting("CrashLoopBackOff", ""), 3))
			p.Annotations[v1.AnnotationInPlace] = strings.Replace(p.Annotations[v1.AnnotationInPlace], "{", "{"+test.fields, 1)
			m.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(m).Name, Failing: []v1.FailingPod{{
				Name: p.Name, UID: p.UID, Since: metav1.NewTime(Now.Add(-time.Minute)), Crashes: 3,
			}}}
			judged, found := Assess(m, history.Find(history.Sources{Manager: m}), inplace.Capabilities{CanResizeAndDrain: true}, []*corev1.Pod{p}, nil, Now).AssessFailure(p)
			if !found || judged.Condemned != test.condemned {
				t.Errorf("found %v, condemned %v", found, judged.Condemned)
			}
		})
	}
}
