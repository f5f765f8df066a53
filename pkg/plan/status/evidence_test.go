package status_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plan/status"
)

// failedAt records that a pod with this UID has been failing for some time.
func failedAt(ago time.Duration, uids ...string) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		Rolled(0, 0, 0)(m)
		for _, uid := range uids {
			name := strings.TrimPrefix(uid, "uid-")
			m.Status.Rollout.Failing = append(m.Status.Rollout.Failing, v1.FailingPod{Name: name, UID: types.UID(uid), Since: metav1.NewTime(Now.Add(-ago))})
		}
	}
}

// The message of a rollback names the pod that shows best why the revision has failed, whatever has caused the rollback.
func TestRollbackHasEvidence(t *testing.T) {
	one := Limits("0", "1")
	unready := func(p *corev1.Pod) { NotReady(p); Crashed(0, time.Minute)(p) }
	marked := func(o *plan.Observed) { o.Revisions[1].Annotations = map[string]string{v1.AnnotationFailed: "true"} }
	const failed = "revision NEW has failed and is rolled back to OLD"
	for name, test := range map[string]struct {
		observed plan.Observed
		want     string
	}{
		"failing pods": {
			observed: RollingOut(Next(3, one, Rollback, failedAt(time.Minute, "uid-web-2")), Pod(0), Pod(1), Pod(2, V2, Crashing)),
			want:     failed + ": web-2: container app: CrashLoopBackOff: Error, exit code 3",
		},
		"the deadline": {
			observed: RollingOut(Next(3, one, Rollback, Rolled(0, 10*time.Minute, 0)), Pod(0), Pod(1, NotReady), Pod(2, V2, unready)),
			want:     failed + ": its pods did not become available in time; web-2: container app: not ready",
		},
		"the deadline, and a pod crashes": {
			observed: RollingOut(Next(3, one, Rollback, MaxFailed("2"), Rolled(0, 10*time.Minute, 0)), Pod(0), Pod(1), Pod(2, V2, Crashing)),
			want:     failed + ": its pods did not become available in time; web-2: container app: CrashLoopBackOff: Error, exit code 3",
		},
		"Halt, then Rollback": {
			observed: With(RollingOut(Next(3, one, Rollback, failedAt(time.Minute, "uid-web-2")), Pod(0), Pod(1), Pod(2, V2, Crashing)), marked),
			want:     failed + ": web-2: container app: CrashLoopBackOff: Error, exit code 3",
		},
		"Halt, then Rollback, and the pod is ready for a moment": {
			observed: With(RollingOut(Next(3, one, Rollback, failedAt(time.Minute, "uid-web-2")), Pod(0), Pod(1), Pod(2, V2, Crashed(3, time.Second))), marked),
			want:     failed + ": web-2: container app: CrashLoopBackOff: Error, exit code 1",
		},
		"Halt, then Rollback, and the pod is being deleted": {
			observed: With(RollingOut(Next(3, one, Rollback, failedAt(time.Minute, "uid-web-2")), Pod(0), Pod(1), Pod(2, V2, Crashing, Terminating)), marked),
			want:     failed + ": web-2: container app: CrashLoopBackOff: Error, exit code 3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			status, _ := Compute(ReportOf(test.observed))
			want := strings.NewReplacer("NEW", status.UpdateRevision, "OLD", status.CurrentRevision).Replace(test.want)
			if got := MessageIn(&status, v1.ConditionProgressing); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// Failing pods that are gone are not named, because other pods may have their names. During a halt that no replacement can end, the message says what to do.
func TestFailedPodsThatAreGone(t *testing.T) {
	gone := failedAt(time.Minute, "uid-before-3", "uid-before-5")
	halted := RollingOut(Next(4, Limits("0", "1"), MaxFailed("2"), gone), Pod(0), Pod(1), Pod(2), Pod(3))
	status, _ := Compute(ReportOf(halted))
	want := "halted with 0 pods updated to " + status.UpdateRevision +
		": 2 pods of it failed and are gone, and no pod replaces them: correct the template, or run kubectl pm undo web or kubectl pm retry web"
	if got := MessageIn(&status, v1.ConditionReady); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	healing := RollingOut(Next(4, Limits("0", "1"), failedAt(time.Minute, "uid-before-3")), Pod(0), Pod(1), Pod(2))
	status, _ = Compute(ReportOf(healing))
	want = "halted with 0 pods updated to " + status.UpdateRevision + ": 1 pod of it failed and is gone, and no replacement works yet"
	if got := MessageIn(&status, v1.ConditionReady); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A scale to zero does not hide that the revision has failed: that decides which pods a scale-up creates.
func TestScaledToZeroTellsOfFailures(t *testing.T) {
	for want, m := range map[string]*v1.PodManager{
		"": Next(0),
		"; revision NEW has failed and is rolled back to OLD":                                             Next(0, Rollback, FailedNow),
		"; the rollout of revision NEW is halted: 1 pod of it failed and is gone, and no pod replaces it": Next(0, failedAt(time.Minute, "uid-before-3")),
	} {
		status, _ := Compute(ReportOf(RollingOut(m)))
		want = "no pods wanted, none active" + strings.NewReplacer("NEW", status.UpdateRevision, "OLD", status.CurrentRevision).Replace(want)
		if got := MessageIn(&status, v1.ConditionReady); got != want || ReasonIn(&status, v1.ConditionReady) != v1.ReasonScaledToZero {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// There is an event when a PodManager becomes misconfigured, and none while it stays so.
func TestMisconfiguredEvent(t *testing.T) {
	m := Manager(3, InPlace(v1.RecreatePods, 5))
	status, _ := Compute(Reported(m, Pods3()...))
	isWarning := func(step Transition) bool {
		return step.Type == corev1.EventTypeWarning && step.Reason == v1.EventMisconfigured && strings.Contains(step.Message, "inPlaceGracePeriodSeconds has no effect")
	}
	if steps := Transitions(m, &v1.PodManagerStatus{}, &status); !slices.ContainsFunc(steps, isWarning) {
		t.Errorf("no event: %v", steps)
	}
	if steps := Transitions(m, &status, &status); len(steps) > 0 {
		t.Errorf("events although nothing has changed: %v", steps)
	}
	status, _ = Compute(Reported(Manager(3, InPlace(v1.InPlaceIfPossible, 5)), Pods3()...))
	if reason := ReasonIn(&status, v1.ConditionMisconfigured); reason != "" {
		t.Errorf("InPlaceIfPossible is misconfigured: %s", reason)
	}
}
