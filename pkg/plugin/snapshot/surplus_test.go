package snapshot_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
)

// If the user undoes a rollout during a pause, its surge pods become surplus, and the controller deletes as many pods at once. During the rollout they
// stay.
func TestSurplusInPause(t *testing.T) {
	tests := map[string]struct {
		replicas int32
		pods     []*corev1.Pod
		missing  []string
		change   func(*v1.PodManager)
		want     string
	}{
		"the new pod is not available": {3, append(Pods3(), Pod(3, V2, NotReady)), nil, Paused, "web-3"},
		"all are available":            {3, append(Pods3(), Pod(3, V2)), nil, Paused, "web-2"},
		"the only pod":                 {1, []*corev1.Pod{Pod(0), Pod(1, V2)}, nil, Paused, "web-1"},
		"one leaves already":           {3, append(Pods3(), Pod(3, V2, Terminating)), nil, Paused, ""},
		"no surge":                     {3, []*corev1.Pod{Pod(0), Pod(1), Pod(2, V2)}, nil, Paused, ""},
		"not paused":                   {3, append(Pods3(), Pod(3, V2)), nil, func(*v1.PodManager) {}, ""},
		"not to be read":               {3, append(Pods3(), Pod(3, V2)), []string{"pods"}, Paused, ""},
		"two at a time": {1, []*corev1.Pod{Pod(0), Pod(1, V2, NotReady), Pod(2, V2, NotReady), Pod(3, V2, NotReady)}, nil,
			func(m *v1.PodManager) { Paused(m); MaxTerminating("2")(m) }, "web-3 web-2 web-1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := RollingOut(Next(test.replicas, Limits("1", "0"), test.change), test.pods...)
			o.Manager.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(o.Manager).Name, Replicas: test.replicas}
			s := snapshot.New(o.Manager, o.Pods, o.Revisions, test.missing, Now)
			if got := s.SurplusInPause(o.Manager); name != "two at a time" && len(got) > 0 {
				t.Errorf("during the rollout: %s", Names(got))
			}
			undone := o.Manager.DeepCopy()
			undone.Spec.Image = Manager(0).Spec.Image
			got := s.SurplusInPause(undone)
			if strings.Join(Names(got), " ") != test.want {
				t.Errorf("got %s, want %s", Names(got), test.want)
			}
			if o.Manager = undone; !undone.Spec.Paused || len(test.missing) > 0 {
				return
			}
			for _, deletion := range plan.Make(o).Delete {
				if !slices.Contains(got, deletion.Pod) {
					t.Errorf("the controller deletes %s", deletion.Pod.Name)
				}
			}
		})
	}
}
