package plan_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	. "github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// A plan that does one or two things is not empty.
func TestEmpty(t *testing.T) {
	pods, revisions := []*corev1.Pod{{}}, []*appsv1.ControllerRevision{{}}
	plans := map[string]Plan{
		"add the finalizer":    {AddFinalizer: true},
		"remove the finalizer": {RemoveFinalizer: true},
		"mark":                 {Mark: revisions},
		"adopt a revision":     {AdoptRevisions: revisions},
		"store":                {Store: make([]history.Store, 1)},
		"drop":                 {Drop: revisions},
		"adopt":                {Adopt: pods},
		"release":              {Release: pods},
		"delete":               {Delete: make([]rollout.Deletion, 1)},
		"create":               {Create: make([]Creation, 1)},
		"update":               {Update: make([]inplace.Update, 1)},
		"annotate":             {Annotate: pods},
	}
	for name, plan := range plans {
		if plan.Empty() {
			t.Errorf("%s: the plan counts as empty", name)
		}
		for other, second := range plans {
			both := Plan{
				Mark: append(plan.Mark, second.Mark...), AdoptRevisions: append(plan.AdoptRevisions, second.AdoptRevisions...), Store: append(plan.Store, second.Store...),
				Drop: append(plan.Drop, second.Drop...), Adopt: append(plan.Adopt, second.Adopt...), Release: append(plan.Release, second.Release...),
				Delete: append(plan.Delete, second.Delete...), Create: append(plan.Create, second.Create...), Update: append(plan.Update, second.Update...),
				Annotate: append(plan.Annotate, second.Annotate...), AddFinalizer: plan.AddFinalizer || second.AddFinalizer, RemoveFinalizer: plan.RemoveFinalizer || second.RemoveFinalizer,
			}
			if both.Empty() {
				t.Errorf("%s and %s: the plan counts as empty", name, other)
			}
		}
	}
	if !(Plan{}).Empty() {
		t.Error("a plan that does nothing does not count as empty")
	}
}
