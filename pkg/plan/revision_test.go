package plan_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// The first revision is stored when it is first needed, and does not delay the pods of a new object.
func TestFirstRevision(t *testing.T) {
	fresh := func(m *v1.PodManager, pods ...*corev1.Pod) Observed {
		o := Observe(m, pods...)
		o.Revisions = nil
		m.Status = v1.PodManagerStatus{}
		return o
	}
	remembering := func(o Observed, image string) Observed {
		before := fresh(Manager(1), o.Pods...)
		before.Manager.Spec.Image = image
		o.Remembered = Make(before).Remember
		return o
	}
	young := ReadyFor(10 * time.Second)
	tests := map[string]struct {
		observed Observed
		want     []string // the images of the revisions to be stored
	}{
		"a new object":                    {observed: fresh(Manager(2, Image("a")))},
		"once its pods are available":     {observed: fresh(Manager(1, Image("a")), Pod(0, OfImage("a"), young)), want: []string{"a"}},
		"not while a pod is not ready":    {observed: fresh(Manager(2, Image("a")), Pod(0, OfImage("a")), Pod(1, OfImage("a"), NotReady))},
		"the template has changed before": {observed: remembering(fresh(Manager(1, Image("b")), Pod(0, OfImage("a"), young)), "a"), want: []string{"a", "b"}},
		"no pod was made from the first":  {observed: remembering(fresh(Manager(1, Image("b"))), "a")},
		"it is forgotten":                 {observed: fresh(Manager(1, Image("b")), Pod(0, OfImage("a"), young)), want: []string{"b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			plan := Make(test.observed)
			for i, store := range plan.Store {
				var template corev1.PodTemplateSpec
				if err := json.Unmarshal(store.Revision.Data.Raw, &template); err != nil || store.Revision.Revision != int64(i+1) {
					t.Fatalf("stores %+v: %v", store.Revision, err)
				}
				got = append(got, template.Spec.Containers[0].Image)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("stores %v, want %v", got, test.want)
			}
			if at := len(plan.Remember) - 1; at < 0 || plan.Remember[at] != plan.Revisions.Update {
				t.Error("the new revision is not remembered")
			}
		})
	}
}

// Pods that were created before a collision of their revision's name was found keep their hash, and are not replaced.
func TestCollisionKeepsPods(t *testing.T) {
	m := Manager(1, Image("a"))
	o := Observe(m, Pod(0, OfImage("a")))
	o.Revisions, m.Status = nil, v1.PodManagerStatus{CollisionCount: 1}
	plan := Make(o)
	if len(plan.Delete)+len(plan.Create) > 0 || len(plan.Store) != 1 || plan.Store[0].Revision.Name == "web-"+o.Pods[0].Labels[v1.LabelRevision] {
		t.Errorf("plans %v", ActionsOf(plan))
	}
}

func TestDeletedDropsNoRevision(t *testing.T) {
	o := Observe(Manager(1, Image("e"), Deleting, func(m *v1.PodManager) { m.Spec.RevisionHistoryLimit = ptr.To[int32](0) }))
	o.Revisions = Versions("a", "b", "c", "d", "e")
	if dropped := Make(o).Drop; len(dropped) > 0 {
		t.Errorf("drops %v", dropped)
	}
}

// A current revision that is lost or cannot be read does not stop a rollout.
func TestLostAndBrokenRevisions(t *testing.T) {
	m := Next(1, Limits("0", "1"))
	o := RollingOut(m, Pod(0))
	o.Revisions[0].Data.Raw = []byte("nonsense")
	if got := ActionsOf(Make(o)); got != "+1 new, -0" {
		t.Errorf("with a last good revision that cannot be read: %q", got)
	}
	o.Revisions = o.Revisions[1:]
	if got := ActionsOf(Make(o)); got != "+1 new, -0" {
		t.Errorf("with a last good revision that is lost: %q", got)
	}
}
