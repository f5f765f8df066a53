package rollout_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// withBake sets bakeSeconds.
func withBake(seconds int32) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.FailurePolicy.BakeSeconds = &seconds }
}

// A change of the failure policy alone ends a halt, whichever field changes. An edit without effect does not count as a change.
func TestPolicyChangeEndsHalt(t *testing.T) {
	tests := map[string]struct {
		change func(*v1.PodManager)
		halted bool
	}{
		"nothing":                     {change: func(*v1.PodManager) {}, halted: true},
		"another field of the spec":   {change: Limits("0", "2"), halted: true},
		"gracePeriodSeconds":          {change: graceOf(31)},
		"failureThreshold":            {change: MaxFailed("1%")},
		"onFailure":                   {change: Rollback},
		"bakeSeconds":                 {change: withBake(60)},
		"bakeSeconds as it was":       {change: withBake(v1.DefaultGracePeriodSeconds), halted: true},
		"the default, spelled out":    {change: OnFailure(v1.HaltOnFailure), halted: true},
		"the threshold, as it was":    {change: func(m *v1.PodManager) { m.Spec.FailurePolicy.FailureThreshold = ptr.To(intstr.FromInt32(1)) }, halted: true},
		"the threshold as percentage": {change: MaxFailed("25%")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			gone := Pod(3, V2, NotReady)
			s := Tell(t, Next(4, Limits("0", "1")), Pod(0), Pod(1), Pod(2), gone)
			Crashing(gone)
			const want = "onFailure Halt, failureThreshold 1, gracePeriodSeconds 30, bakeSeconds 30"
			if status := s.After(time.Second); status.Rollout.JudgedBy != want {
				t.Errorf("judged by %q, want %q", status.Rollout.JudgedBy, want)
			}
			s.O.Pods = s.O.Pods[:3]
			s.After(time.Hour) // the failed pod is gone, and there is no replacement
			test.change(s.O.Manager)
			s.O.Manager.Generation++
			status := s.After(time.Second)
			if got := len(status.Rollout.Failing) > 0; got != test.halted {
				t.Errorf("halted %v, want %v: %+v", got, test.halted, status.Rollout)
			}
		})
	}
}

// After a change of the failure policy, a pod that still fails gets its full time to recover again, and a pod that is ready no longer counts.
func TestPolicyChangeGivesTimeAnew(t *testing.T) {
	down, up := Pod(2, V2, NotReady), Pod(3, V2)
	s := Tell(t, Next(4, Limits("0", "2"), MaxFailed("1")), Pod(0), Pod(1), down, up)
	Crashing(down)
	Crashed(1, 0)(up)
	if status := s.After(time.Second); len(status.Rollout.Failing) != 2 {
		t.Fatalf("failing %+v, want both", status.Rollout.Failing)
	}
	s.After(time.Minute)
	Crashed(1, 0)(up) // it has recovered, or nearly so
	up.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(s.O.Now.Add(-time.Second))
	Rollback(s.O.Manager)
	for _, step := range []struct {
		wait   time.Duration
		failed bool
	}{{time.Second, false}, {28 * time.Second, false}, {4 * time.Second, true}} {
		if status := s.After(step.wait); (status.FailedRevision != "") != step.failed || !step.failed && unrecovered(&status) != 1 {
			t.Fatalf("%v later, failed revision %q; %+v", step.wait, status.FailedRevision, status.Rollout)
		}
	}
}

// If two pods have failed and are gone, a single replacement that recovers ends one of the two failures only, however long it is available.
func TestOneReplacementStandsForOneFailure(t *testing.T) {
	gone := []*corev1.Pod{Pod(4, V2, NotReady), Pod(5, V2, NotReady)}
	s := Tell(t, Next(6, Limits("0", "2"), MaxFailed("1")), Pod(0), Pod(1), Pod(2), Pod(3), gone[0], gone[1])
	Crashing(gone[0])
	Crashing(gone[1])
	s.After(time.Second)
	replacement := Pod(4, V2, ReadyFor(0), Replacing("web-4"))
	replacement.UID, replacement.CreationTimestamp = "another", metav1.NewTime(s.O.Now.Add(time.Minute))
	s.O.Pods = append(s.O.Pods[:4:4], replacement)
	for range 20 {
		s.After(31 * time.Second)
	}
	status := s.After(time.Hour)
	if left := unrecovered(&status); left != 1 {
		t.Errorf("%d failures left, want 1: %+v", left, status.Rollout.Failing)
	}
	second := Pod(5, V2, ReadyFor(0), Replacing("web-5"))
	second.UID, second.CreationTimestamp = "another still", metav1.NewTime(s.O.Now)
	s.O.Pods = append(s.O.Pods, second)
	s.After(time.Second)
	status = s.After(31 * time.Second)
	if status = s.After(time.Second); status.Rollout != nil && unrecovered(&status) > 0 {
		t.Errorf("with a second replacement: %+v", status.Rollout.Failing)
	}
}

// The record of a deleted pod passes to its replacement, or to any pod if no pod is missing. A replacement that has finished itself before the status
// named it is not a second failure.
func TestReplacementTakesOverTheRecord(t *testing.T) {
	fresh, replaces := CreatedAgo(time.Second), Annotated(v1.AnnotationReplaces, "gone")
	for want, pods := range map[string][]*corev1.Pod{
		"web-4": {Pod(0), Pod(3, V2, NotReady, fresh), Pod(4, V2, NotReady, replaces)},
		"web-2": {Pod(3, V2), Pod(4, V2, fresh)},
		"web-8": {Pod(0), Pod(3, V2), Pod(8, V2, fresh)}, // during a halt, no other pod will ever replace it
		"web-5": {Pod(3, V2), Pod(4, V2), Pod(5, V2, CreatedAgo(time.Minute))},
		"web-3": {Pod(0), Pod(1), FailedPod(3, 0, 0, V2, fresh, replaces)},
		"web-6": {Pod(0, V2), Pod(6, V2, CreatedAgo(time.Minute)), Pod(7, V2, fresh, Unlabelled)},
	} {
		m := Next(3, Limits("0", "2"))
		m.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(m).Name, Failing: []v1.FailingPod{{Name: "web-2", UID: "gone", Since: metav1.NewTime(Now.Add(-10 * time.Second))}}}
		o := RollingOut(m, pods...)
		if slices.ContainsFunc(pods, podstate.IsUnmanaged) {
			m.Status.CurrentRevision = "" // otherwise the pod counts as one of the current revision
		}
		got, _ := status.Compute(ReportOf(o))
		if failing := got.Rollout.Failing; len(failing) != 1 || failing[0].Name != want {
			t.Errorf("failing are %v, want %s", failing, want)
		}
	}
}

func unrecovered(status *v1.PodManagerStatus) (count int) {
	for _, pod := range status.Rollout.Failing {
		if !pod.Recovered {
			count++
		}
	}
	return count
}
