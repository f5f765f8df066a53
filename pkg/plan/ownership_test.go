package plan_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// The garbage collector can miss the deletion of a PodManager if another one with the same name is created at once. It gets some time, then the new
// PodManager removes the leftovers.
func TestLeftovers(t *testing.T) {
	since := func(ago time.Duration) func(*v1.PodManager) {
		return func(m *v1.PodManager) { m.CreationTimestamp = metav1.NewTime(Now.Add(-ago)) }
	}
	tests := map[string]struct {
		age       time.Duration
		leftovers []*corev1.Pod
		revisions int
		deleted   []string
		dropped   int
		again     time.Duration
	}{
		"nothing is left":           {age: time.Hour},
		"time to collect them":      {age: 10 * time.Second, leftovers: []*corev1.Pod{Pod(1)}, revisions: 1, again: 20 * time.Second},
		"they are still there":      {age: 30 * time.Second, leftovers: []*corev1.Pod{Pod(1), Pod(2, Phase(corev1.PodFailed))}, revisions: 1, deleted: []string{"web-1", "web-2"}, dropped: 1},
		"they are on their way out": {age: time.Hour, leftovers: []*corev1.Pod{Pod(1, Terminating)}},
		"only a revision is left":   {age: time.Hour, revisions: 1, dropped: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := Observe(Manager(1, since(test.age)), Pod(0))
			o.Leftovers = test.leftovers
			for range test.revisions {
				o.LeftoverRevisions = append(o.LeftoverRevisions, &appsv1.ControllerRevision{})
			}
			plan := Make(o)
			var deleted []string
			for _, d := range plan.Delete {
				if d.Why != rollout.WhyLeftover {
					t.Errorf("%s is deleted: %s", d.Pod.Name, d.Why)
				}
				deleted = append(deleted, d.Pod.Name)
			}
			if len(deleted) != len(test.deleted) || len(plan.Drop) != test.dropped || Until(plan.Again) != test.again {
				t.Errorf("deletes %v, drops %d revisions, syncs again after %v", deleted, len(plan.Drop), Until(plan.Again))
			}
			if test.again > 0 && plan.Again.Why != requeue.RequeueLeftovers {
				t.Errorf("syncs again because of %s", plan.Again.Why)
			}
			if len(test.deleted)+test.dropped > 0 && (!plan.NeedsLiveSpec() || plan.ActsOnPods()) {
				t.Error("a plan that removes leftovers does not read the spec live, or counts as acting on pods of its own")
			}
		})
	}
}
