package plan_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// A refused update or adoption of a revision blocks nothing else. A refused create blocks the pods of this revision, and the rollout to it.
func TestRefusedRevisions(t *testing.T) {
	orphaned := func(o *Observed) {
		o.OrphanRevisions = []*appsv1.ControllerRevision{Stored(Manager(0, Image("orphan")), 1)}
		o.OrphanRevisions[0].OwnerReferences = nil
	}
	putBack := func(o *Observed) { o.Revisions = append(o.Revisions, Stored(Manager(0, Image("newer")), 7)) }
	unlabelled := func(o *Observed) { delete(o.Revisions[0].Labels, v1.LabelRevision) }
	newIsNotStored := func(o *Observed) { o.Revisions = o.Revisions[:1] }
	oldIsLost := func(o *Observed) {
		o.Remembered = Make(*o).Remember
		o.Revisions = o.Revisions[1:]
	}
	neverStored := func(o *Observed) {
		_, o.Remembered = history.Find(history.Sources{Manager: Manager(5)}).ToStore(false)
		o.Revisions, o.Manager.Status = nil, v1.PodManagerStatus{}
	}
	recreate := func(m *v1.PodManager) { m.Spec.UpdateStrategy.Type = v1.RecreateStrategy }
	old3, five := []*corev1.Pod{Pod(0), Pod(1), Pod(2)}, []*corev1.Pod{Pod(0), Pod(1), Pod(2), Pod(3), Pod(4)}
	tests := map[string]struct {
		observed Observed
		key      requeue.BackoffKey
		change   func(*Observed)
		want     string
	}{
		"another cause":                           {observed: Observe(Manager(3, Because("ticket")), Pod(0)), key: requeue.BackoffRenew, want: "+1 new, +2 new"},
		"another number":                          {observed: Observe(Manager(3), Pod(0)), key: requeue.BackoffRenew, change: putBack, want: "+1 new, +2 new"},
		"a label":                                 {observed: Observe(Manager(3), Pod(0)), key: requeue.BackoffRenew, change: unlabelled, want: "+1 new, +2 new"},
		"an orphan":                               {observed: Observe(Manager(3), Pod(0)), key: requeue.BackoffInherit, change: orphaned, want: "+1 new, +2 new"},
		"an update in a rollout":                  {observed: RollingOut(Next(3, Limits("0", "1"), Because("ticket")), old3...), key: requeue.BackoffRenew, want: "+3 new, -2"},
		"the new one":                             {observed: RollingOut(Next(3, Limits("0", "1")), old3...), key: requeue.BackoffStore, change: newIsNotStored},
		"the new one, with surge":                 {observed: RollingOut(Next(3, Limits("1", "0")), old3...), key: requeue.BackoffStore, change: newIsNotStored},
		"the new one, with Recreate":              {observed: RollingOut(Next(3, recreate), old3...), key: requeue.BackoffStore, change: newIsNotStored},
		"the new one, in place":                   {observed: RollingOut(Next(3, InPlace(v1.InPlaceIfPossible, 0)), old3...), key: requeue.BackoffStore, change: newIsNotStored},
		"the new one, scaled down":                {observed: RollingOut(Next(3), five...), key: requeue.BackoffStore, change: newIsNotStored, want: "-4, -3"},
		"the new one, Recreate scaled down":       {observed: RollingOut(Next(3, recreate), five...), key: requeue.BackoffStore, change: newIsNotStored, want: "-4, -3"},
		"the new one, old pods missing":           {observed: RollingOut(Next(4, Limits("0", "1")), Pod(0)), key: requeue.BackoffStore, change: newIsNotStored, want: "+1 old, +2 old"},
		"the new one, below the partition":        {observed: RollingOut(Next(3, Partition("3")), Pod(0)), key: requeue.BackoffStore, change: newIsNotStored, want: "+1 old, +2 old"},
		"the new one, finished pods go":           {observed: RollingOut(Next(1, failedPodsKept(0)), Pod(0), FailedPod(1, time.Hour, 0)), key: requeue.BackoffStore, change: newIsNotStored, want: "-1"},
		"the first one, which was superseded":     {observed: RollingOut(Next(3), five...), key: requeue.BackoffStore, change: neverStored, want: "-4, -3"},
		"the only one":                            {observed: Observe(Manager(3), Pod(0)), key: requeue.BackoffStore, change: func(o *Observed) { o.Revisions = nil }},
		"the only one, scaled down":               {observed: Observe(Manager(1), old3...), key: requeue.BackoffStore, change: func(o *Observed) { o.Revisions = nil }, want: "-2, -1"},
		"the old one, which was lost":             {observed: RollingOut(Next(3, Limits("1", "0")), old3...), key: requeue.BackoffStore, change: oldIsLost},
		"the old one, in place":                   {observed: RollingOut(Next(3, InPlace(v1.InPlaceIfPossible, 0)), old3...), key: requeue.BackoffStore, change: oldIsLost},
		"the old one, and a new pod is missing":   {observed: RollingOut(Next(3, Limits("1", "0")), Pod(0), Pod(1, V2)), key: requeue.BackoffStore, change: oldIsLost, want: "+3 new"},
		"the old one, with Recreate":              {observed: RollingOut(Next(3, recreate), old3...), key: requeue.BackoffStore, change: oldIsLost},
		"a revision that nothing needs to create": {observed: Observe(Manager(3), Pod(0)), key: requeue.BackoffStore, want: "+1 new, +2 new"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.change != nil {
				test.change(&test.observed)
			}
			heldOn(test.key)(&test.observed)
			plan := Make(test.observed)
			if got := ActionsOf(plan); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if isHeld := plan.Blocked != nil && plan.Again.At.Equal(Now.Add(time.Minute)); isHeld == (name == "a revision that nothing needs to create") {
				t.Errorf("blocked: %v, again at %v", plan.Blocked, plan.Again.At)
			}
			if len(plan.Store)+len(plan.AdoptRevisions) > 0 {
				t.Errorf("stores %v, adopts %v", plan.Store, plan.AdoptRevisions)
			}
		})
	}
}

// While the update of a revision is refused, the revision gets its marks nevertheless.
func TestMarksWithoutUpdate(t *testing.T) {
	o := Observe(Manager(1, Because("ticket")), Pod(0))
	if plan := Make(o); len(plan.Mark) > 0 || len(plan.Store) != 1 {
		t.Fatalf("marks %v and stores %v in the same plan", plan.Mark, plan.Store)
	}
	heldOn(requeue.BackoffRenew)(&o)
	plan := Make(o)
	isGood := func(r *appsv1.ControllerRevision) bool {
		return r.Name == o.Revisions[0].Name && r.Annotations[v1.AnnotationGood] != "" && r.Annotations[v1.AnnotationChangeCause] == ""
	}
	if len(plan.Mark) != 1 || !slices.ContainsFunc(plan.Mark, isGood) {
		t.Errorf("marks %v", plan.Mark)
	}
}
