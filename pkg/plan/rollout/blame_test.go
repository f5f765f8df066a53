package rollout_test

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

func annotatedWith(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, value) }
}

// inPlaceWith gives a pod this image and this record of an update in place.
func inPlaceWith(name string, record inplace.Record) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		OfImage(name)(p)
		record.Revision, record.At = p.Labels[v1.LabelRevision], Now.Add(-time.Minute)
		note, _ := json.Marshal(record)
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1.AnnotationInPlace, string(note))
	}
}

// After an update in place that fixes a crash loop, the pod's status shows the crash loop until the kubelet has restarted the container. That does
// not count against the fix.
func TestFixInPlaceIsNotBlamed(t *testing.T) {
	image := Waiting("ImagePullBackOff", `Back-off pulling image "nginx"`)
	for name, before := range map[string]corev1.ContainerState{"crash loop": Waiting("CrashLoopBackOff", "back-off 5m0s"), "image": image} {
		t.Run(name, func(t *testing.T) {
			m := Next(1, Rollback, InPlace(v1.InPlaceIfPossible, 0), Limits("0", "1"))
			p := Pod(0, IsIn(before, 7), annotatedWith(v1.AnnotationFailuresBefore, "3"))
			p.Generation, p.Status.ObservedGeneration = 1, 1
			s := Tell(t, m, p)
			plan := plan.Make(s.O)
			if len(plan.Update) != 1 {
				t.Fatalf("plans %v", ActionsOf(plan))
			}
			patch, err := plan.Update[0].Patch(m, s.O.Now)
			if err != nil {
				t.Fatal(err)
			}
			ApplyPatch(p, patch)
			for _, observed := range []int64{1, 2} { // a kubelet reports the new generation before it restarts containers
				p.Status.ObservedGeneration = observed
				status := s.After(time.Minute)
				s.HasNotFailed(status, "the kubelet has not restarted the container")
				if len(status.Rollout.Failing) > 0 {
					t.Errorf("observed generation %d: the old crash loop counts as a failure: %v", observed, status.Rollout.Failing)
				}
			}
			IsIn(Waiting("CrashLoopBackOff", "back-off 10s"), 9)(p) // these restarts belong to the new container
			if status := s.After(time.Second); len(status.Rollout.Failing) != 1 {
				t.Error("a crash of the new container does not count")
			}
		})
	}
}

// Before the kubelet has observed the update, no trouble counts, not even in a container that the update does not change.
func TestNothingCountsBeforeItIsObserved(t *testing.T) {
	p := Pod(0, InPlaceTo("v2", 0, time.Second), IsIn(Waiting("CreateContainerConfigError", ""), 5))
	p.Generation = 2
	for observed, want := range map[int64]bool{1: false, 2: true} {
		p.Status.ObservedGeneration = observed
		if got := HasFailed(p); got != want {
			t.Errorf("observed generation %d of 2: failing %v", observed, got)
		}
	}
}

// An image that cannot be pulled counts against the new revision. A message about the old image does not.
func TestNewImageCannotBePulled(t *testing.T) {
	p := Pod(0, IsIn(Waiting("ImagePullBackOff", `Back-off pulling image "v2"`), 0), inPlaceWith("v2", inplace.Record{
		Containers: map[string]inplace.ContainerBefore{"app": {From: "nginx", Trouble: podstate.TroubleImage + " nginx"}},
	}))
	if !HasFailed(p) {
		t.Error("an image that cannot be pulled does not count")
	}
	IsIn(Waiting("ErrImagePull", `failed to pull and unpack image "docker.io/library/nginx": not found`), 0)(p)
	if HasFailed(p) {
		t.Error("a message about the old image counts")
	}
}

// Restarts are compared separately for each container, init container and sidecar.
func TestRestartsOfEachContainer(t *testing.T) {
	status := func(name string, restarts int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, RestartCount: restarts, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Now)}}}
	}
	changed := func(app, proxy, setUp int32) *corev1.Pod {
		return Pod(0, NotReady, inPlaceWith("v2", inplace.Record{
			Containers: map[string]inplace.ContainerBefore{"app": {ImageID: "id-before", Restarts: 2, From: "nginx"}},
			Others:     map[string]inplace.OtherBefore{"proxy": {Restarts: 4}, "set-up": {Restarts: 1}},
		}), func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{status("app", app)}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{status("proxy", proxy), status("set-up", setUp)}
		})
	}
	tests := map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"the restart of the update only":                     {pod: changed(3, 4, 1)},
		"a sidecar crashes":                                  {pod: changed(3, 5, 1), want: true},
		"a sidecar crashes before the restart of the update": {pod: changed(2, 5, 1), want: true},
		"an init container crashes":                          {pod: changed(3, 4, 2), want: true},
		"the updated container crashes":                      {pod: changed(4, 4, 1), want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := HasFailed(test.pod); got != test.want {
				t.Errorf("failing: %v", got)
			}
		})
	}
}
