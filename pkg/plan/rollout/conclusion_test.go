package rollout_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// A plan says which revision has failed and which one is good. The rest of the plan does not act on it before the status says the same.
func TestConclusion(t *testing.T) {
	failing := func(ago time.Duration) func(*v1.PodManager) {
		return func(m *v1.PodManager) {
			Rolled(0, 0, 0)(m)
			m.Status.Rollout.Failing = []v1.FailingPod{{Name: "web-2", UID: "uid-web-2", Since: metav1.NewTime(Now.Add(-ago))}}
		}
	}
	none := func(o *plan.Observed) { o.Manager.Status.CurrentRevision = "" }
	unstored := func(o *plan.Observed) { o.Revisions = o.Revisions[:1] }
	updated := []*corev1.Pod{Pod(0, V2), Pod(1, V2), Pod(2, V2)}
	bad := []*corev1.Pod{Pod(0), Pod(1), Pod(2, V2, Crashing)}
	one := Limits("0", "1")
	tests := map[string]struct {
		observed        plan.Observed
		current, failed string // nginx, v2 or empty
		isNew           bool   // the revision fails now
		isKept          bool   // there is a record of the rollout
	}{
		"under way":                       {observed: RollingOut(Next(3, one), Pod(0), Pod(1), Pod(2, V2)), current: "nginx", isKept: true},
		"its bake time begins":            {observed: RollingOut(Next(3, one), updated...), current: "nginx", isKept: true},
		"its bake time is not over":       {observed: RollingOut(Next(3, one, Baking(29*time.Second)), updated...), current: "nginx", isKept: true},
		"its bake time is over":           {observed: RollingOut(Next(3, one, Baking(30*time.Second)), updated...), current: "v2"},
		"not before it is stored":         {observed: With(RollingOut(Next(3, one, Baking(time.Hour)), updated...), unstored), current: "nginx", isKept: true},
		"the first one is superseded":     {observed: With(RollingOut(Next(3, one), Pods3()...), none), current: "nginx", isKept: true},
		"both prove themselves at once":   {observed: With(RollingOut(Next(1, one, Strategy(v1.OnDeleteStrategy), Baking(time.Hour)), Pod(0), Pod(1, V2)), none), current: "nginx", isKept: true},
		"superseded, and does not serve":  {observed: With(RollingOut(Next(3, one), Pod(0, NotReady), Pod(1, NotReady), Pod(2)), none), isKept: true},
		"it is failing":                   {observed: RollingOut(Next(3, one, Rollback, failing(29*time.Second)), bad...), current: "nginx", isKept: true},
		"it fails":                        {observed: RollingOut(Next(3, one, Rollback, failing(30*time.Second)), bad...), current: "nginx", failed: "v2", isNew: true},
		"it fails, and is only halted":    {observed: RollingOut(Next(3, one, failing(30*time.Second)), bad...), current: "nginx", isKept: true},
		"it misses its deadline":          {observed: RollingOut(Next(3, one, Rollback, Rolled(0, 10*time.Minute, 0)), Pod(0), Pod(1), Pod(2, V2, NotReady)), current: "nginx", failed: "v2", isNew: true},
		"it has failed before":            {observed: RollingOut(Next(3, one, Rollback, FailedNow), bad...), current: "nginx", failed: "v2"},
		"nothing changes at rest":         {observed: Observe(Manager(3), Pods3()...), current: "nginx"},
		"nothing to return to, so a halt": {observed: With(RollingOut(Next(3, one, Rollback, failing(time.Hour)), Pod(0, NotReady), Pod(1, NotReady), Pod(2, V2, Crashing)), none), isKept: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			nameOf := func(image string) string {
				if image == "" {
					return ""
				}
				return RevisionFor(Manager(0, Image(image))).Name
			}
			decided := plan.Make(test.observed)
			got := decided.Rollout
			if got.CurrentRevision != nameOf(test.current) || got.FailedRevision != nameOf(test.failed) {
				t.Errorf("current %q, failed %q; want %q and %q", got.CurrentRevision, got.FailedRevision, nameOf(test.current), nameOf(test.failed))
			}
			if (got.Failed != nil) != test.isNew || got.RolledBack != (test.failed != "") || (got.Record != nil) != test.isKept {
				t.Errorf("fails now %v, rolled back %v, record %v", got.Failed != nil, got.RolledBack, got.Record)
			}
			if test.isNew && ActionsOf(decided) != "" {
				t.Errorf("plans %s before the status says that the revision has failed", ActionsOf(decided))
			}
		})
	}
}

// If PodManagers are created together, their first revisions become good at different times: each waits up to twice the bake time. Later revisions
// wait only for the bake time.
func TestFirstBakeIsSpread(t *testing.T) {
	waits := map[time.Duration]bool{}
	for _, uid := range []types.UID{"a", "b", "c"} {
		m := Manager(1, Baking(0))
		m.UID = uid
		until := func() time.Duration {
			wait, _ := rollout.Assess(m, history.Find(history.Sources{Manager: m}), inplace.Capabilities{CanResizeAndDrain: true}, []*corev1.Pod{Pod(0)}, nil, Now).UntilProven()
			return wait
		}
		wait := until()
		if waits[wait] = true; wait <= m.BakeTime() || wait >= 2*m.BakeTime() {
			t.Errorf("%s: the first bake takes %v", uid, wait)
		}
		m.Status.CurrentRevision = "web-before"
		if wait := until(); wait != m.BakeTime() {
			t.Errorf("%s: a later bake takes %v", uid, wait)
		}
	}
	if len(waits) != 3 {
		t.Errorf("all take %v", waits)
	}
}
