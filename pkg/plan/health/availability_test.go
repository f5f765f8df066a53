package health_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

func TestIsUpdating(t *testing.T) {
	behind := func(p *corev1.Pod) { p.Generation, p.Status.ObservedGeneration = 2, 1 }
	level := func(p *corev1.Pod) { p.Generation, p.Status.ObservedGeneration = 2, 2 }
	changed := InPlaceTo("v2", 3, time.Minute)
	deferred := Resizing(corev1.PodResizePending, corev1.PodReasonDeferred)
	tests := map[string]struct {
		pod  *corev1.Pod
		want bool
		// available is whether the pod is available during the update.
		available bool
	}{
		"never updated":                      {pod: Pod(0, behind), available: true},
		"not restarted yet":                  {pod: Pod(0, changed, Runs("nginx", "id-before", 3)), want: true},
		"no container status":                {pod: Pod(0, changed), want: true},
		"the image name says nothing":        {pod: Pod(0, changed, Runs("v2", "id-before", 3)), want: true},
		"the same image, restarted":          {pod: Pod(0, changed, Runs("docker.io/v2", "id-before", 4)), available: true},
		"another image, not restarted":       {pod: Pod(0, changed, Runs("docker.io/v2", "id-after", 3)), available: true},
		"an empty image ID says nothing":     {pod: Pod(0, changed, Runs("docker.io/v2", "", 3)), want: true},
		"the kubelet has not observed it":    {pod: Pod(0, changed, Runs("v2", "id-after", 4), behind), want: true},
		"the kubelet has observed it":        {pod: Pod(0, changed, Runs("v2", "id-after", 4), level), available: true},
		"resize in progress":                 {pod: Pod(0, changed, Runs("v2", "id-after", 4), Resizing(corev1.PodResizeInProgress, "")), want: true},
		"resize deferred":                    {pod: Pod(0, changed, Runs("v2", "id-after", 4), deferred), want: true, available: true},
		"resize infeasible":                  {pod: Pod(0, changed, Runs("v2", "id-after", 4), Resizing(corev1.PodResizePending, corev1.PodReasonInfeasible)), want: true, available: true},
		"resize failed":                      {pod: Pod(0, changed, Runs("v2", "id-after", 4), Resizing(corev1.PodResizeInProgress, corev1.PodReasonError)), want: true, available: true},
		"resize deferred, not restarted yet": {pod: Pod(0, changed, Runs("nginx", "id-before", 3), deferred), want: true},
		"resize deferred, but not observed":  {pod: Pod(0, changed, Runs("v2", "id-after", 4), deferred, behind), want: true},
		"resize deferred, drained":           {pod: Pod(0, Closed, changed, Runs("v2", "id-after", 4), deferred), want: true},
		"the record is of another revision":  {pod: Pod(0, changed, Runs("nginx", "id-before", 3), OfImage("v3")), available: true},
		"a refused update":                   {pod: Pod(0, V2, RefusedChange, behind), available: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := inplace.IsUpdating(test.pod); got != test.want {
				t.Errorf("updating: %v", got)
			}
			if got := IsAvailable(test.pod, 0, Now); got != test.available {
				t.Errorf("available: %v", got)
			}
		})
	}
}

// When a pod is updated in place, its Ready condition may still be from before, and describe the old containers. So minReadySeconds counts from the
// update.
func TestAvailableAfterAnUpdate(t *testing.T) {
	for ago, want := range map[time.Duration]bool{59 * time.Second: false, time.Minute: true} {
		p := Pod(0, ReadyFor(time.Hour), InPlaceTo("v2", 0, ago), Runs("v2", "id-after", 1))
		if got := IsAvailable(p, time.Minute, Now); got != want {
			t.Errorf("%v after the change available: %v", ago, got)
		}
	}
}

// A refused update does not erase the record of the pod's last update in place.
func TestAvailableAfterARefusal(t *testing.T) {
	for ago, want := range map[time.Duration]bool{59 * time.Second: false, time.Minute: true} {
		p := Pod(0, ReadyFor(time.Hour), InPlaceTo("v2", 0, ago), Runs("v2", "id-after", 1))
		step := inplace.Update{Pod: p, Step: inplace.StepUpdate, From: RevisionWith("", TemplateWith()), To: RevisionWith("other", TemplateWith())}
		patch, err := step.RefusalPatch(requeue.Failure{Reason: v1.ReasonInvalidPod, Message: "no"}, true, Now)
		if err != nil {
			t.Fatal(err)
		}
		ApplyPatch(p, patch)
		if got := IsAvailable(p, time.Minute, Now); got != want {
			t.Errorf("%v after the change available: %v; %s", ago, got, p.Annotations[v1.AnnotationInPlace])
		}
	}
}
