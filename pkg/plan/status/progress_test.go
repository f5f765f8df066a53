package status_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plan/status"
)

func TestDeadline(t *testing.T) {
	const deadline = 10 * time.Minute
	other := func(m *v1.PodManager) { m.Status.Rollout.Revision = "web-other" }
	fresh := Pod(3, V2, NotReady)
	tests := map[string]struct {
		observed plan.Observed
		// most, ran and spent are the record: the highest number of available pods, how long the clock has run (negative if it is stopped), and the
		// seconds spent before.
		most  int32
		ran   time.Duration
		spent int32
		// exceeded is whether the deadline has passed.
		exceeded bool
		again    time.Duration
	}{
		"the clock starts with the first pod": {
			observed: RollingOut(Next(3), Pod(0), Pod(1), Pod(2), fresh),
			again:    deadline,
		},
		"the clock does not run before the first pod": {
			observed: RollingOut(Next(3), Pods3()...),
			ran:      -1,
		},
		"the clock goes on": {
			observed: RollingOut(Next(3, Rolled(0, time.Minute, 0)), Pod(0), Pod(1), Pod(2), fresh),
			ran:      time.Minute, again: 9 * time.Minute,
		},
		"a further available pod resets the clock": {
			observed: RollingOut(Next(3, Rolled(0, time.Minute, 0)), Pod(0), Pod(1), Pod(2, V2), fresh),
			most:     1, again: deadline,
		},
		"a pod that was available before does not reset the clock": {
			observed: RollingOut(Next(3, Rolled(2, time.Minute, 0)), Pod(0), Pod(1, V2), Pod(2, V2), fresh),
			most:     2, ran: time.Minute, again: 9 * time.Minute,
		},
		"fewer available pods than before do not reset the clock": {
			observed: RollingOut(Next(3, Rolled(2, time.Minute, 0)), Pod(0), Pod(1), Pod(2, V2), fresh),
			most:     2, ran: time.Minute, again: 9 * time.Minute,
		},
		"an old pod that becomes available is no progress": {
			observed: RollingOut(Next(3, Rolled(1, time.Minute, 0)), Pod(0), Pod(1), Pod(2, V2), fresh),
			most:     1, ran: time.Minute, again: 9 * time.Minute,
		},
		"the clock is reset while only an old pod is unavailable": {
			observed: RollingOut(Next(3, Rolled(1, time.Minute, 0)), Pod(0, NotReady), Pod(1), Pod(2, V2)),
			most:     1, ran: -1,
		},
		"the clock is reset once the partition is reached": {
			observed: RollingOut(Next(3, Rolled(1, time.Minute, 0), Partition("2")), Pod(0, NotReady), Pod(1), Pod(2, V2)),
			most:     1, ran: -1,
		},
		"a higher partition lowers the maximum": {
			observed: RollingOut(Next(3, Rolled(3, time.Minute, 0), Partition("2")), Pod(0), Pod(1, NotReady), Pod(2, V2, NotReady)),
			most:     1, ran: time.Minute, again: 9 * time.Minute,
		},
		"the deadline passes": {
			observed: RollingOut(Next(3, Rolled(0, deadline, 0)), Pod(0), Pod(1), Pod(2), fresh),
			ran:      -1, spent: 600, exceeded: true,
		},
		"the deadline has passed": {
			observed: RollingOut(Next(3, Rolled(0, 0, 600)), Pod(0), Pod(1), Pod(2), fresh),
			ran:      -1, spent: 600, exceeded: true,
		},
		"a higher deadline starts the clock again": {
			observed: RollingOut(Next(3, Rolled(0, 0, 600), func(m *v1.PodManager) { m.Spec.ProgressDeadlineSeconds = ptr.To[int32](660) }), Pod(0), Pod(1), Pod(2), fresh),
			spent:    600, again: time.Minute,
		},
		"a second before the deadline": {
			observed: RollingOut(Next(3, Rolled(0, deadline-time.Second, 0)), Pod(0), Pod(1), Pod(2), fresh),
			ran:      deadline - time.Second, again: time.Second,
		},
		"a pause stops the clock": {
			observed: RollingOut(Next(3, Paused, Rolled(0, 9*time.Minute, 0)), Pod(0), Pod(1), Pod(2), fresh),
			ran:      -1, spent: 540,
		},
		"a pause adds to the time spent before": {
			observed: RollingOut(Next(3, Paused, Rolled(0, time.Minute, 100)), Pod(0), Pod(1), Pod(2), fresh),
			ran:      -1, spent: 160,
		},
		"a pause after the deadline stops the clock if no status has reported the deadline": {
			observed: RollingOut(Next(3, Paused, Rolled(0, deadline, 0)), Pod(0), Pod(1), Pod(2), fresh),
			ran:      -1, spent: 599,
		},
		"during a pause no deadline passes": {
			observed: RollingOut(Next(3, Paused, Rolled(0, 0, 900)), Pod(0), Pod(1), Pod(2), fresh),
			ran:      -1, spent: 900,
		},
		"after a pause the clock goes on": {
			observed: RollingOut(Next(3, Rolled(0, 0, 540)), Pod(0), Pod(1), Pod(2), fresh),
			spent:    540, again: time.Minute,
		},
		"time spent before a pause counts": {
			observed: RollingOut(Next(3, Rolled(0, time.Minute, 540)), Pod(0), Pod(1), Pod(2), fresh),
			ran:      -1, spent: 600, exceeded: true,
		},
		"progress resets the time spent before": {
			observed: RollingOut(Next(3, Rolled(0, time.Minute, 540)), Pod(0), Pod(1), Pod(2, V2), fresh),
			most:     1, again: deadline,
		},
		"an edit does not reset the clock": {
			observed: RollingOut(Next(3, Rolled(0, deadline, 0), edited(1)), Pod(0), Pod(1), Pod(2), fresh),
			ran:      -1, spent: 600, exceeded: true,
		},
		"two edits may have been to another template and back": {
			observed: RollingOut(Next(3, Rolled(0, deadline, 0), edited(2)), Pod(0), Pod(1), Pod(2), fresh),
			again:    deadline,
		},
		"another template resets the clock": {
			observed: RollingOut(Next(3, Rolled(2, time.Hour, 540), other), Pod(0), Pod(1), Pod(2), fresh),
			again:    deadline,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status, again := Compute(ReportOf(test.observed))
			got := status.Rollout
			if got == nil {
				t.Fatal("the status has no record")
			}
			var want *metav1.Time
			if test.ran >= 0 {
				want = ptr.To(metav1.NewTime(Now.Add(-test.ran)))
			}
			if got.MostAvailable != test.most || got.SpentSeconds != test.spent || !want.Equal(got.Since) {
				t.Errorf("remembers most %d, spent %d, since %v; want %d, %d, %v", got.MostAvailable, got.SpentSeconds, got.Since, test.most, test.spent, want)
			}
			if exceeded := ReasonIn(&status, v1.ConditionStalled) == v1.ReasonDeadline; exceeded != test.exceeded {
				t.Errorf("deadline exceeded: %v", exceeded)
			}
			if Until(again) != test.again {
				t.Errorf("syncs again after %v, want %v", again, test.again)
			}
		})
	}
}

// edited increases the generation as if the user had changed the spec this many times since the status was written.
func edited(times int64) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Generation += times }
}

// The API server stores whole seconds. A status with fractions would differ from the stored one, and would be written again.
func TestClockShowsWholeSeconds(t *testing.T) {
	o := RollingOut(Next(3), Pod(0), Pod(1), Pod(2, V2, Crashing))
	o.Now = Now.Add(700 * time.Millisecond)
	o.Pods = append(o.Pods, Pod(3, V2, NotReady))
	MaxFailed("2")(o.Manager) // otherwise the clock would stop
	status, _ := Compute(ReportOf(o))
	want := Now.Add(time.Second) // too late is better than too early
	if since, failing := status.Rollout.Since, status.Rollout.Failing[0].Since; !since.Time.Equal(want) || !failing.Time.Equal(want) {
		t.Errorf("since %v, failing since %v; want %v", since, failing, want)
	}
}

func TestNoRolloutNoClock(t *testing.T) {
	tests := map[string]plan.Observed{
		"complete":             RollingOut(Next(3, Rolled(2, time.Hour, 0), Baking(time.Hour)), Pod(0, V2), Pod(1, V2), Pod(2, V2)),
		"nothing has changed":  Observe(Manager(3, Rolled(2, time.Hour, 0)), Pods3()...),
		"the partition is met": RollingOut(Next(3, Rolled(2, time.Hour, 0), Partition("2")), Pod(0), Pod(1), Pod(2, V2)),
		"no pods wanted":       RollingOut(Next(0, Rolled(2, time.Hour, 0))),
		"OnDelete":             RollingOut(Next(3, Rolled(2, time.Hour, 0), Strategy(v1.OnDeleteStrategy)), Pods3()...),
		"rolled back":          RollingOut(Next(3, Rolled(2, time.Hour, 0), OnFailure(v1.RollbackOnFailure), FailedNow), Pods3()...),
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			if status, again := Compute(ReportOf(o)); status.Rollout != nil && status.Rollout.Since != nil || !again.Never() {
				t.Errorf("remembers %v, again %v", status.Rollout, again)
			}
		})
	}
}

// failingFor records how long web-2 has been failing.
func failingFor(ago time.Duration) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		Rolled(0, ago, 0)(m)
		m.Status.Rollout.Failing = []v1.FailingPod{{Name: "web-2", UID: "uid-web-2", Since: metav1.NewTime(Now.Add(-ago))}}
	}
}

// readyAgain records how long web-2 has been ready again.
func readyAgain(ago time.Duration) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		m.Status.Rollout.Failing[0].ReadySince = ptr.To(metav1.NewTime(Now.Add(-ago)))
	}
}

// kubeletReady makes the kubelet report the container as ready.
func kubeletReady(p *corev1.Pod) { p.Status.ContainerStatuses[0].Ready = true }

// nodeLost makes the node controller report the pod as not ready.
func nodeLost(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func TestFailedRevision(t *testing.T) {
	rollback := OnFailure(v1.RollbackOnFailure)
	bad := []*corev1.Pod{Pod(0), Pod(1), Pod(2, V2, Crashing)}
	noCurrent := func(o *plan.Observed) { o.Manager.Status.CurrentRevision = "" }
	forgotten := func(o *plan.Observed) { o.Revisions = o.Revisions[1:] } // loses the revision of the old pods
	tests := map[string]struct {
		observed plan.Observed
		want     bool
		failing  bool
		again    time.Duration
	}{
		"pods have time to recover":                     {observed: RollingOut(Next(3, rollback, failingFor(29*time.Second)), bad...), failing: true, again: time.Second},
		"then the revision has failed":                  {observed: RollingOut(Next(3, rollback, failingFor(30*time.Second)), bad...), want: true},
		"the grace period begins now":                   {observed: RollingOut(Next(3, rollback), bad...), failing: true, again: 30 * time.Second},
		"the failing pod is ready again":                {observed: RollingOut(Next(3, rollback, failingFor(time.Minute)), Pod(0), Pod(1), Pod(2, V2)), failing: true, again: 30 * time.Second},
		"the failing pod has recovered":                 {observed: RollingOut(Next(3, rollback, failingFor(time.Minute), readyAgain(30*time.Second)), Pod(0), Pod(1), Pod(2, V2))},
		"too few fail":                                  {observed: RollingOut(Next(3, rollback, failingFor(time.Minute), MaxFailed("2")), bad...), failing: true, again: 9 * time.Minute},
		"Halt only halts":                               {observed: RollingOut(Next(3, failingFor(time.Minute)), bad...), failing: true},
		"paused":                                        {observed: RollingOut(Next(3, rollback, failingFor(time.Minute), Paused), bad...), failing: true},
		"no good revision: the old one is named first":  {observed: With(RollingOut(Next(3, rollback, failingFor(time.Minute)), bad...), noCurrent), failing: true},
		"no good revision, and no old pod is available": {observed: With(RollingOut(Next(3, rollback, failingFor(time.Minute)), Pod(0, NotReady), Pod(1, NotReady), Pod(2, V2, Crashing)), noCurrent), failing: true},
		"nothing to return to":                          {observed: With(RollingOut(Next(3, rollback, failingFor(time.Minute)), bad...), noCurrent, forgotten), failing: true},
		"the deadline has passed":                       {observed: RollingOut(Next(3, rollback, Rolled(0, 10*time.Minute, 0)), Pod(0), Pod(1), Pod(2, V2, NotReady)), want: true},
		"the deadline has passed, not ready for long enough": {observed: RollingOut(Next(3, rollback, func(m *v1.PodManager) { m.Spec.MinReadySeconds = 7200 }, Rolled(0, 10*time.Minute, 0), func(m *v1.PodManager) { m.Status.Rollout.MinReadySeconds = 7200 }),
			Pod(0, ReadyFor(3*time.Hour)), Pod(1, ReadyFor(3*time.Hour)), Pod(2, V2, IsIn(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, 0), ReadyFor(time.Hour), kubeletReady)), want: true, again: time.Hour},
		"the deadline has passed, its node is lost":     {observed: RollingOut(Next(3, rollback, Rolled(0, 10*time.Minute, 0)), Pod(0), Pod(1), Pod(2, V2, IsIn(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, 0), ReadyFor(time.Hour), kubeletReady, nodeLost))},
		"the deadline has passed, Halt":                 {observed: RollingOut(Next(3, Rolled(0, 10*time.Minute, 0)), Pod(0), Pod(1), Pod(2, V2, NotReady))},
		"a failed revision stays failed":                {observed: RollingOut(Next(3, rollback, FailedNow), Pods3()...), want: true},
		"another template has not failed":               {observed: RollingOut(Next(3, rollback, FailedBefore), Pods3()...)},
		"the old template, put back, has not failed":    {observed: Observe(Manager(3, rollback, FailedBefore), Pods3()...)},
		"onFailure Continue: failedRevision is dropped": {observed: RollingOut(Next(3, OnFailure(v1.ContinueOnFailure), FailedNow), bad...), failing: true, again: 30 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status, again := Compute(ReportOf(test.observed))
			if failed := status.FailedRevision != ""; failed != test.want {
				t.Errorf("failed: %v", failed)
			}
			if test.want && (status.FailedRevision != status.UpdateRevision || ReasonIn(&status, v1.ConditionProgressing) != v1.ReasonRolledBack || status.Rollout != nil) {
				t.Errorf("failed %s, progressing %s, remembers %v", status.FailedRevision, ReasonIn(&status, v1.ConditionProgressing), status.Rollout)
			}
			if name == "nothing to return to" && (ReasonIn(&status, v1.ConditionReady) != v1.ReasonHalted || ReasonIn(&status, v1.ConditionStalled) != v1.ReasonHalted) {
				t.Errorf("ready %s, stalled %s: the rollout never ends", ReasonIn(&status, v1.ConditionReady), ReasonIn(&status, v1.ConditionStalled))
			}
			if failing := status.Rollout != nil && len(failingIn(status)) > 0; failing != test.failing {
				t.Errorf("failing: %v", failing)
			}
			if Until(again) != test.again {
				t.Errorf("syncs again after %v, want %v", Until(again), test.again)
			}
		})
	}
}

// No pod is rolled back before the status has failedRevision: a controller that restarts halfway would find no failing pod any more. After that,
// the status is all that a controller needs.
func TestRollbackIsWrittenDownFirst(t *testing.T) {
	m := Next(3, OnFailure(v1.RollbackOnFailure), Limits("0", "1"), failingFor(time.Minute))
	o := RollingOut(m, Pod(0), Pod(1), Pod(2, V2, Crashing))
	if got := ActionsOf(plan.Make(o)); got != "" {
		t.Errorf("before the status has failedRevision: %q", got)
	}
	status, _ := Compute(ReportOf(o))
	m.Status = status
	if got := ActionsOf(plan.Make(o)); got != "+3 old, -2" {
		t.Errorf("once the status has failedRevision: %q", got)
	}
	// The failing pod is gone.
	o.Pods = []*corev1.Pod{Pod(0), Pod(1), Pod(3)}
	if status, _ = Compute(ReportOf(o)); status.FailedRevision != m.Status.UpdateRevision || ActionsOf(plan.Make(o)) != "" {
		t.Errorf("after the rollback: failed %q, plans %q", status.FailedRevision, ActionsOf(plan.Make(o)))
	}
}
