package plan_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// A failed revision is marked in the history until it becomes good or is rolled out again.
func TestFailedRevisionIsMarked(t *testing.T) {
	rolledBack := func(m *v1.PodManager) { m.Status.FailedRevision = RevisionFor(m).Name }
	failing := func(ago time.Duration) func(*v1.PodManager) {
		return func(m *v1.PodManager) {
			m.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(m).Name, Replicas: 3,
				Failing: []v1.FailingPod{{Name: "web-2", UID: "uid-web-2", Since: metav1.NewTime(Now.Add(-ago))}}}
		}
	}
	marked := func(o *Observed) { o.Revisions[1].Annotations = map[string]string{v1.AnnotationFailed: "true"} }
	older := func(o *Observed) { o.Revisions[0].Revision = 3 }
	const (
		nothing  = "as it was"
		mark     = "marked"
		noMark   = "not marked"
		graceful = 10 * time.Second
	)
	bad, one := Pod(2, V2, Crashing), Limits("0", "1")
	tests := map[string]struct {
		observed Observed
		want     string
	}{
		"under way":                     {RollingOut(Next(3, one), Pod(0), Pod(1), Pod(2, V2)), nothing},
		"failing, with time to recover": {RollingOut(Next(3, one, failing(graceful)), Pod(0), Pod(1), bad), nothing},
		"halted for good":               {RollingOut(Next(3, one, failing(time.Minute)), Pod(0), Pod(1), bad), mark},
		"its pods do not matter":        {RollingOut(Next(3, one, failing(time.Minute), OnFailure(v1.ContinueOnFailure)), Pod(0), Pod(1), bad), nothing},
		"rolled back":                   {RollingOut(Next(3, one, rolledBack, OnFailure(v1.RollbackOnFailure)), Pod(0), Pod(1), bad), mark},
		"marked once":                   {With(RollingOut(Next(3, one, rolledBack), Pod(0), Pod(1), Pod(2)), marked), nothing},
		"recovered":                     {With(RollingOut(Next(3, one), Pod(0), Pod(1), Pod(2, V2)), marked), noMark},
		"the status is lost":            {With(RollingOut(Next(3, one, OnFailure(v1.RollbackOnFailure)), Pod(0), Pod(1), Pod(2)), marked), nothing},
		"rolled back once it continues": {With(RollingOut(Next(3, one, OnFailure(v1.RollbackOnFailure), Paused), Pod(0), Pod(1), bad), marked), nothing},
		"proven after all":              {With(RollingOut(Next(3, one, Baking(time.Hour)), Pod(0, V2), Pod(1, V2), Pod(2, V2)), marked), noMark},
		"the current one":               {With(RollingOut(Next(1), Pod(0, V2)), marked, func(o *Observed) { o.Manager.Status.CurrentRevision = o.Revisions[1].Name }), noMark},
		"tried again after another one": {With(RollingOut(Next(3, one), Pods3()...), marked, older), noMark},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan, got := Make(test.observed), nothing
			for _, marked := range plan.Mark {
				if marked.Name != plan.Revisions.Update.Name {
					continue
				}
				if got = noMark; marked.Annotations[v1.AnnotationFailed] != "" {
					got = mark
				}
			}
			for _, store := range plan.Store {
				if got = noMark; store.Revision.Annotations[v1.AnnotationFailed] != "" || !store.Exists {
					t.Errorf("stores %+v", store)
				}
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
