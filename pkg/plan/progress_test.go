package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// rolled is a rollout with this much behind it, after so many pods at a time were available.
func rolled(most int32, ago time.Duration, spent int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		m.Status.Rollout = &v1.RolloutStatus{Revision: revisionFor(m).Name, MostAvailable: most, SpentSeconds: spent}
		if ago > 0 {
			m.Status.Rollout.Since = ptr.To(metav1.NewTime(now.Add(-ago)))
		}
	}
}

func TestDeadline(t *testing.T) {
	const deadline = 10 * time.Minute
	other := func(m *v1.PodManager) { m.Status.Rollout.Revision = "web-other" }
	fresh := pod(3, v2, notReady)
	tests := map[string]struct {
		observed Observed
		// most, ran and spent are what is remembered: ran is negative for a clock that stands still.
		most  int32
		ran   time.Duration
		spent int32
		late  bool
		again time.Duration
	}{
		"the clock starts with the first pod": {
			observed: rollingOut(next(3), pod(0), pod(1), pod(2), fresh),
			again:    deadline,
		},
		"before that there is nothing to wait for": {
			observed: rollingOut(next(3), pods3()...),
			ran:      -1,
		},
		"and goes on": {
			observed: rollingOut(next(3, rolled(0, time.Minute, 0)), pod(0), pod(1), pod(2), fresh),
			ran:      time.Minute, again: 9 * time.Minute,
		},
		"a pod more makes it start anew": {
			observed: rollingOut(next(3, rolled(0, time.Minute, 0)), pod(0), pod(1), pod(2, v2), fresh),
			most:     1, again: deadline,
		},
		"one that was available before does not": {
			observed: rollingOut(next(3, rolled(2, time.Minute, 0)), pod(0), pod(1, v2), pod(2, v2), fresh),
			most:     2, ran: time.Minute, again: 9 * time.Minute,
		},
		"the most there were is remembered when there are fewer": {
			observed: rollingOut(next(3, rolled(2, time.Minute, 0)), pod(0), pod(1), pod(2, v2), fresh),
			most:     2, ran: time.Minute, again: 9 * time.Minute,
		},
		"an old pod that becomes available is no progress": {
			observed: rollingOut(next(3, rolled(1, time.Minute, 0)), pod(0), pod(1), pod(2, v2), fresh),
			most:     1, ran: time.Minute, again: 9 * time.Minute,
		},
		"what old pods take does not count": {
			observed: rollingOut(next(3, rolled(1, time.Minute, 0)), pod(0, notReady), pod(1), pod(2, v2)),
			most:     1, ran: -1, spent: 60,
		},
		"nor does what waits for the partition": {
			observed: rollingOut(next(3, rolled(1, time.Minute, 0), partition("2")), pod(0, notReady), pod(1), pod(2, v2)),
			most:     1, ran: -1,
		},
		"pods that are moved back are to be earned again": {
			observed: rollingOut(next(3, rolled(3, time.Minute, 0), partition("2")), pod(0), pod(1, notReady), pod(2, v2, notReady)),
			most:     1, ran: time.Minute, again: 9 * time.Minute,
		},
		"it ends": {
			observed: rollingOut(next(3, rolled(0, deadline, 0)), pod(0), pod(1), pod(2), fresh),
			ran:      -1, spent: 600, late: true,
		},
		"and stays so": {
			observed: rollingOut(next(3, rolled(0, 0, 600)), pod(0), pod(1), pod(2), fresh),
			ran:      -1, spent: 600, late: true,
		},
		"until the deadline is raised": {
			observed: rollingOut(next(3, rolled(0, 0, 600), func(m *v1.PodManager) { m.Spec.ProgressDeadlineSeconds = ptr.To[int32](660) }), pod(0), pod(1), pod(2), fresh),
			spent:    600, again: time.Minute,
		},
		"just not yet": {
			observed: rollingOut(next(3, rolled(0, deadline-time.Second, 0)), pod(0), pod(1), pod(2), fresh),
			ran:      deadline - time.Second, again: time.Second,
		},
		"a pause stops it": {
			observed: rollingOut(next(3, paused, rolled(0, 9*time.Minute, 0)), pod(0), pod(1), pod(2), fresh),
			ran:      -1, spent: 540,
		},
		"and adds to what was spent before": {
			observed: rollingOut(next(3, paused, rolled(0, time.Minute, 100)), pod(0), pod(1), pod(2), fresh),
			ran:      -1, spent: 160,
		},
		"and nothing is late as long as that lasts": {
			observed: rollingOut(next(3, paused, rolled(0, 0, 900)), pod(0), pod(1), pod(2), fresh),
			ran:      -1, spent: 900,
		},
		"then it goes on where it was": {
			observed: rollingOut(next(3, rolled(0, 0, 540)), pod(0), pod(1), pod(2), fresh),
			spent:    540, again: time.Minute,
		},
		"what was spent before counts": {
			observed: rollingOut(next(3, rolled(0, time.Minute, 540)), pod(0), pod(1), pod(2), fresh),
			ran:      -1, spent: 600, late: true,
		},
		"progress forgives that": {
			observed: rollingOut(next(3, rolled(0, time.Minute, 540)), pod(0), pod(1), pod(2, v2), fresh),
			most:     1, again: deadline,
		},
		"another template starts it anew": {
			observed: rollingOut(next(3, rolled(2, time.Hour, 540), other), pod(0), pod(1), pod(2), fresh),
			again:    deadline,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status, again := Status(reportOf(test.observed))
			got := status.Rollout
			if got == nil {
				t.Fatal("nothing is remembered")
			}
			var want *metav1.Time
			if test.ran >= 0 {
				want = ptr.To(metav1.NewTime(now.Add(-test.ran)))
			}
			if got.MostAvailable != test.most || got.SpentSeconds != test.spent || !want.Equal(got.Since) {
				t.Errorf("remembers most %d, spent %d, since %v; want %d, %d, %v", got.MostAvailable, got.SpentSeconds, got.Since, test.most, test.spent, want)
			}
			if late := reasonOf(&status, v1.ConditionStalled) == v1.ReasonDeadline; late != test.late {
				t.Errorf("late: %v", late)
			}
			if until(again) != test.again {
				t.Errorf("look again after %v, want %v", again, test.again)
			}
		})
	}
}

// The API server stores whole seconds: a status with more would differ from what comes back, and be written again.
func TestClockShowsWholeSeconds(t *testing.T) {
	o := rollingOut(next(3), pod(0), pod(1), pod(2, v2, crashing))
	o.Now = now.Add(700 * time.Millisecond)
	o.Pods = append(o.Pods, pod(3, v2, notReady))
	maxFailed("2")(o.Manager) // or the clock would stand still
	status, _ := Status(reportOf(o))
	want := now.Add(time.Second) // rather too late than too early
	if since, failing := status.Rollout.Since, status.Rollout.Failing[0].Since; !since.Time.Equal(want) || !failing.Time.Equal(want) {
		t.Errorf("since %v, failing since %v; want %v", since, failing, want)
	}
}

func TestNoRolloutNoClock(t *testing.T) {
	tests := map[string]Observed{
		"complete":             rollingOut(next(3, rolled(2, time.Hour, 0)), pod(0, v2), pod(1, v2), pod(2, v2)),
		"nothing has changed":  observe(manager(3, rolled(2, time.Hour, 0)), pods3()...),
		"the partition is met": rollingOut(next(3, rolled(2, time.Hour, 0), partition("2")), pod(0), pod(1), pod(2, v2)),
		"no pods wanted":       rollingOut(next(0, rolled(2, time.Hour, 0))),
		"OnDelete":             rollingOut(next(3, rolled(2, time.Hour, 0), strategy(v1.OnDeleteStrategy)), pods3()...),
		"rolled back":          rollingOut(next(3, rolled(2, time.Hour, 0), onFailure(v1.RollbackOnFailure), failedNow), pods3()...),
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			if status, again := Status(reportOf(o)); status.Rollout != nil && status.Rollout.Since != nil || !again.Never() {
				t.Errorf("remembers %v, again %v", status.Rollout, again)
			}
		})
	}
}

// failedNow tells that the present revision was rolled back.
func failedNow(m *v1.PodManager) { m.Status.FailedRevision = revisionFor(m).Name }

// failingFor tells since when web-2 has been failing.
func failingFor(ago time.Duration) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		rolled(0, ago, 0)(m)
		m.Status.Rollout.Failing = []v1.FailingPod{{Name: "web-2", UID: "uid-web-2", Since: metav1.NewTime(now.Add(-ago))}}
	}
}

// readyAgain tells since when it has been ready again.
func readyAgain(ago time.Duration) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		m.Status.Rollout.Failing[0].ReadySince = ptr.To(metav1.NewTime(now.Add(-ago)))
	}
}

func TestFailedRevision(t *testing.T) {
	rollback := onFailure(v1.RollbackOnFailure)
	bad := []*corev1.Pod{pod(0), pod(1), pod(2, v2, crashing)}
	noCurrent := func(o *Observed) { o.Manager.Status.CurrentRevision = "" }
	forgotten := func(o *Observed) { o.Revisions = o.Revisions[1:] } // what the others were made from
	tests := map[string]struct {
		observed Observed
		want     bool
		failing  bool
	}{
		"pods have time to recover":       {observed: rollingOut(next(3, rollback, failingFor(29*time.Second)), bad...), failing: true},
		"then the revision has failed":    {observed: rollingOut(next(3, rollback, failingFor(30*time.Second)), bad...), want: true},
		"the time begins now":             {observed: rollingOut(next(3, rollback), bad...), failing: true},
		"it is up again":                  {observed: rollingOut(next(3, rollback, failingFor(time.Minute)), pod(0), pod(1), pod(2, v2)), failing: true},
		"none fails any more":             {observed: rollingOut(next(3, rollback, failingFor(time.Minute), readyAgain(30*time.Second)), pod(0), pod(1), pod(2, v2))},
		"too few fail":                    {observed: rollingOut(next(3, rollback, failingFor(time.Minute), maxFailed("2")), bad...), failing: true},
		"Halt only halts":                 {observed: rollingOut(next(3, failingFor(time.Minute)), bad...), failing: true},
		"paused":                          {observed: rollingOut(next(3, rollback, failingFor(time.Minute), paused), bad...), failing: true},
		"nothing is known to be good":     {observed: with(rollingOut(next(3, rollback, failingFor(time.Minute)), bad...), noCurrent), want: true},
		"nothing that serves":             {observed: with(rollingOut(next(3, rollback, failingFor(time.Minute)), pod(0, notReady), pod(1, notReady), pod(2, v2, crashing)), noCurrent), failing: true},
		"nothing to return to":            {observed: with(rollingOut(next(3, rollback, failingFor(time.Minute)), bad...), noCurrent, forgotten), failing: true},
		"it does not get on":              {observed: rollingOut(next(3, rollback, rolled(0, 10*time.Minute, 0)), pod(0), pod(1), pod(2, v2, notReady)), want: true},
		"it does not get on, Halt":        {observed: rollingOut(next(3, rolled(0, 10*time.Minute, 0)), pod(0), pod(1), pod(2, v2, notReady))},
		"it stays failed":                 {observed: rollingOut(next(3, rollback, failedNow), pods3()...), want: true},
		"another template has not":        {observed: rollingOut(next(3, rollback, failedBefore), pods3()...)},
		"nor has the old one, put back":   {observed: observe(manager(3, rollback, failedBefore), pods3()...)},
		"failures do not matter any more": {observed: rollingOut(next(3, onFailure(v1.ContinueOnFailure), failedNow), bad...), failing: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status, _ := Status(reportOf(test.observed))
			if failed := status.FailedRevision != ""; failed != test.want {
				t.Errorf("failed: %v", failed)
			}
			if test.want && (status.FailedRevision != status.UpdateRevision || reasonOf(&status, v1.ConditionProgressing) != v1.ReasonRolledBack || status.Rollout != nil) {
				t.Errorf("failed %s, progressing %s, remembers %v", status.FailedRevision, reasonOf(&status, v1.ConditionProgressing), status.Rollout)
			}
			if name == "nothing to return to" && (reasonOf(&status, v1.ConditionReady) != v1.ReasonHalted || reasonOf(&status, v1.ConditionStalled) != v1.ReasonHalted) {
				t.Errorf("ready %s, stalled %s: it goes on for ever", reasonOf(&status, v1.ConditionReady), reasonOf(&status, v1.ConditionStalled))
			}
			if failing := status.Rollout != nil && len(failingIn(status)) > 0; failing != test.failing {
				t.Errorf("failing: %v", failing)
			}
		})
	}
}

// Nothing is undone before it is written down that the revision has failed: a controller that dies half way would find
// nothing wrong any more. And a controller that comes later needs nothing but the status.
func TestRollbackIsWrittenDownFirst(t *testing.T) {
	m := next(3, onFailure(v1.RollbackOnFailure), limits("0", "1"), failingFor(time.Minute))
	o := rollingOut(m, pod(0), pod(1), pod(2, v2, crashing))
	if got := movesOf(Make(o)); got != "" {
		t.Errorf("before it is written down: %q", got)
	}
	status, _ := Status(reportOf(o))
	m.Status = status
	if got := movesOf(Make(o)); got != "+3 old, -2" {
		t.Errorf("once it is: %q", got)
	}
	// The failing pod is gone, and with it all that showed the failure.
	o.Pods = []*corev1.Pod{pod(0), pod(1), pod(3)}
	if status, _ = Status(reportOf(o)); status.FailedRevision != m.Status.UpdateRevision || movesOf(Make(o)) != "" {
		t.Errorf("after it: failed %q, plans %q", status.FailedRevision, movesOf(Make(o)))
	}
}
