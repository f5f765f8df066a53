package status_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plan/status"
)

func TestEndBetween(t *testing.T) {
	started := func(s *v1.PodManagerStatus) {
		s.Rollout = &v1.RolloutStatus{Revision: s.UpdateRevision, StartedAt: &metav1.Time{Time: Now}}
	}
	countedAs := func(result Result) func(*v1.PodManagerStatus) {
		return func(s *v1.PodManagerStatus) { s.Rollout.CountedAs = string(result) }
	}
	unstarted := func(s *v1.PodManagerStatus) { s.Rollout = &v1.RolloutStatus{Revision: s.UpdateRevision} }
	failed := func(s *v1.PodManagerStatus) { s.FailedRevision = "two" }
	rolling, done := v1.ReasonRollingOut, v1.ReasonAllAvailable
	tests := map[string]struct {
		old, now *v1.PodManagerStatus
		deleting bool
		want     Result
	}{
		"begins":                              {old: at("one", "one", done), now: at("two", "one", rolling, started)},
		"goes on":                             {old: at("two", "one", rolling, started), now: at("two", "one", rolling, started)},
		"bakes: it may still be rolled back":  {old: at("two", "one", rolling, started), now: at("two", "one", v1.ReasonBaking, started)},
		"rolled back while it bakes":          {old: at("two", "one", v1.ReasonBaking, started), now: at("two", "one", rolling, failed), want: RolledBack},
		"completed":                           {old: at("two", "one", v1.ReasonBaking, started), now: at("two", "two", done), want: Completed},
		"was completed before":                {old: at("two", "two", done), now: at("two", "two", done)},
		"rolled back":                         {old: at("two", "one", rolling, started), now: at("two", "one", v1.ReasonRolledBack, failed), want: RolledBack},
		"was rolled back before":              {old: at("two", "one", v1.ReasonRolledBack, failed), now: at("two", "one", v1.ReasonRolledBack, failed)},
		"another template after the rollback": {old: at("two", "one", v1.ReasonRolledBack, failed), now: at("three", "one", rolling, started)},
		"halted":                              {old: at("two", "one", rolling, started), now: at("two", "one", v1.ReasonHalted, started, countedAs(Halted)), want: Halted},
		"deadline":                            {old: at("two", "one", rolling, started), now: at("two", "one", rolling, started, countedAs(Deadline)), want: Deadline},
		"halted before, and completes":        {old: at("two", "one", rolling, started, countedAs(Halted)), now: at("two", "two", done)},
		"halted before, and is rolled back":   {old: at("two", "one", rolling, started, countedAs(Halted)), now: at("two", "one", rolling, failed)},
		"halted before, and is superseded":    {old: at("two", "one", rolling, started, countedAs(Halted)), now: at("three", "one", rolling, started)},
		"superseded":                          {old: at("two", "one", rolling, started), now: at("three", "one", rolling, started), want: Superseded},
		"the old template put back":           {old: at("two", "one", rolling, started), now: at("one", "one", rolling), want: Superseded},
		"the first revision":                  {old: at("one", "", rolling, unstarted), now: at("one", "one", done)},
		"deleted":                             {old: at("two", "one", rolling, started), now: at("two", "one", v1.ReasonTerminating), deleting: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			manager := Manager(3)
			if test.deleting {
				manager.DeletionTimestamp = &metav1.Time{Time: Now}
			}
			end := EndBetween(manager, test.old, test.now)
			switch {
			case end == nil && test.want != "", end != nil && end.Result != test.want:
				t.Errorf("the end is %+v, want %q", end, test.want)
			case end != nil && (end.Revision != "two" || !end.Started.Equal(Now)):
				t.Errorf("%+v is of another revision, or began at another time", end)
			}
		})
	}
}

// A rollout that halts for good and recovers was counted as halted. It is not counted again when it completes.
func TestHaltedIsCountedOnce(t *testing.T) {
	s := Tell(t, Next(3, Limits("0", "1")), Pod(0, V2, Crashing), Pod(1), Pod(2))
	last := s.O.Manager.Status.DeepCopy()
	if last.Rollout.StartedAt == nil {
		t.Fatal("the record does not say when the rollout began")
	}
	after := func(wait time.Duration) Result {
		t.Helper()
		status := s.After(wait)
		end := EndBetween(s.O.Manager, last, &status)
		if last = status.DeepCopy(); end == nil {
			return ""
		}
		return end.Result
	}
	if got := after(10 * time.Second); got != "" {
		t.Errorf("counted as %q while the pod may recover", got)
	}
	if got := after(30 * time.Second); got != Halted {
		t.Errorf("counted as %q, want halted", got)
	}
	if got := after(time.Minute); got != "" {
		t.Errorf("counted again as %q", got)
	}
	for i := range s.Pods {
		*s.Pods[i] = *Pod(i, V2, upAt(s.O.Now, 0))
	}
	if got := after(time.Second); got != "" || last.CurrentRevision == last.UpdateRevision {
		t.Errorf("counted as %q", got)
	}
	after(time.Minute) // the pod has recovered, and the bake time begins
	if got := after(time.Minute); got != "" || last.CurrentRevision != last.UpdateRevision {
		t.Errorf("counted as %q; the current revision is %s, the new one %s", got, last.CurrentRevision, last.UpdateRevision)
	}
}

// A rollout that misses its deadline is counted then.
func TestDeadlineIsCounted(t *testing.T) {
	s := Tell(t, Next(3, Limits("0", "1")), Pod(0, V2, NotReady), Pod(1), Pod(2))
	old := s.O.Manager.Status
	status := s.After(time.Hour)
	if end := EndBetween(s.O.Manager, &old, &status); end == nil || end.Result != Deadline {
		t.Errorf("counted as %+v, want deadline", end)
	}
}

// A paused rollout has not ended: it is rolled back when it is resumed.
func TestPausedIsNotCounted(t *testing.T) {
	s := Tell(t, Next(3, Limits("0", "1"), Rollback, Paused), Pod(0, V2, Crashing), Pod(1), Pod(2))
	old := s.O.Manager.Status
	status := s.After(time.Hour)
	if end := EndBetween(s.O.Manager, &old, &status); end != nil || ReasonIn(&status, v1.ConditionStalled) != v1.ReasonHalted {
		t.Errorf("counted as %+v, stalled %q", end, ReasonIn(&status, v1.ConditionStalled))
	}
	s.O.Manager.Spec.Paused, old = false, status
	status = s.After(time.Second)
	if end := EndBetween(s.O.Manager, &old, &status); end == nil || end.Result != RolledBack {
		t.Errorf("counted as %+v, want rolled_back", end)
	}
}

// The first revision of an object is not a rollout, even if the object was paused before its first pod.
func TestFirstRevisionIsNoRollout(t *testing.T) {
	m := Manager(2, Paused)
	o := Observe(m)
	m.Status = v1.PodManagerStatus{}
	status, _ := Compute(ReportOf(o))
	o.Manager.Status, o.Manager.Spec.Paused = status, false
	o.Pods = append(o.Pods, Pod(0), Pod(1, NotReady))
	status, _ = Compute(ReportOf(o))
	if status.Rollout == nil || status.Rollout.StartedAt != nil || status.UpdateRevision == "" {
		t.Errorf("the record is %+v of revision %q, want one without a start", status.Rollout, status.UpdateRevision)
	}
}
