package status_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// failingIn returns the pods that have not recovered.
func failingIn(status v1.PodManagerStatus) []v1.FailingPod {
	return slices.DeleteFunc(slices.Clone(status.Rollout.Failing), func(pod v1.FailingPod) bool { return pod.Recovered })
}

// upAt makes a pod ready at this time, by the clock of its node.
func upAt(at time.Time, restarts int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		ReadyFor(Now.Sub(at))(p)
		Crashed(restarts, Now.Sub(at))(p)
	}
}

// Each failing pod has its own grace period.
func TestEachPodHasItsOwnGrace(t *testing.T) {
	s := Tell(t, Next(3, Rollback), Pod(0), Pod(1, V2, Crashing), Pod(2, V2))
	upAt(s.O.Now.Add(5*time.Second), 1)(s.Pods[1])
	s.After(5 * time.Second)
	Crashing(s.Pods[2])
	s.After(23 * time.Second)
	upAt(s.O.Now.Add(5*time.Second), 1)(s.Pods[2])
	if status := s.After(5 * time.Second); status.FailedRevision != "" {
		t.Errorf("rolled back with all pods available: %s", MessageIn(&status, v1.ConditionProgressing))
	}
	Crashing(s.Pods[2])
	if status := s.After(24 * time.Second); status.FailedRevision != "" {
		t.Error("rolled back before the grace period of the second pod is over")
	}
	if status := s.After(time.Second); status.FailedRevision == "" {
		t.Error("not rolled back when the grace period of the second pod is over")
	}
}

// A failure from which a pod has recovered does not count against its next failure.
func TestRecoveryIsFinal(t *testing.T) {
	s := Tell(t, Next(3, Rollback, Partition("2")), Pod(0), Pod(1), Pod(2, V2, Crashing))
	upAt(s.O.Now.Add(5*time.Second), 1)(s.Pods[2])
	s.After(5 * time.Second)
	if status := s.After(30 * time.Second); len(failingIn(status)) != 0 {
		t.Errorf("not recovered: %v", status.Rollout.Failing)
	}
	if status := s.After(240 * time.Hour); len(status.Rollout.Failing) != 0 {
		t.Errorf("the record has not expired: %v", status.Rollout.Failing)
	}
	NotReady(s.Pods[2])
	s.After(time.Second)
	s.HasNotFailed(s.After(31*time.Second), "unready for half a minute")
	IsIn(Waiting("CrashLoopBackOff", ""), 2)(s.Pods[2])
	s.After(time.Second)
	s.HasNotFailed(s.After(29*time.Second), "the next failure has its own time")
	if status := s.After(time.Second); status.FailedRevision == "" {
		t.Error("the next failure does not count at all")
	}
}

// A node with a wrong clock does not make a pod fail.
func TestClocksOfNodes(t *testing.T) {
	for name, skew := range map[string]time.Duration{"ahead": 2 * time.Minute, "far ahead": time.Hour, "behind": -2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			s := Tell(t, Next(3, Rollback), Pod(0), Pod(1), Pod(2, V2, Crashing))
			upAt(s.O.Now.Add(5*time.Second).Add(skew), 1)(s.Pods[2])
			s.After(5 * time.Second)
			s.HasNotFailed(s.After(26*time.Second), "it is up")
			if status := s.After(10 * time.Second); status.FailedRevision != "" || len(failingIn(status)) > 0 {
				t.Errorf("failed %q, failing %v; it has been up for the grace period", status.FailedRevision, status.Rollout.Failing)
			}
		})
	}
}

// A canary that serves on a node whose clock is 15 minutes ahead becomes available after minReadySeconds, long before its deadline.
func TestCanaryBeforeItsTime(t *testing.T) {
	s := Tell(t, Next(3, Rollback, Partition("2"), func(m *v1.PodManager) { m.Spec.MinReadySeconds = 60 }), Pod(0), Pod(1), Pod(2, V2, ReadyFor(-15*time.Minute), Written(0)))
	s.HasNotFailed(s.After(59*time.Second), "it serves")
	if status := s.After(time.Second); status.AvailableReplicas != 3 {
		t.Errorf("%d pods are available after minReadySeconds: %s", status.AvailableReplicas, MessageIn(&status, v1.ConditionReady))
	}
	s.HasNotFailed(s.After(11*time.Minute), "it is available")
}

// While a partition keeps further pods from being updated, unavailable old pods do not make the new revision fail.
func TestDeadlineOfARestingCanary(t *testing.T) {
	s := Tell(t, Next(3, Rollback, Partition("2")), Pod(0), Pod(1), Pod(2, V2))
	if status := s.After(time.Hour); ReasonIn(&status, v1.ConditionReady) != v1.ReasonPartition {
		t.Fatalf("Ready is %s", ReasonIn(&status, v1.ConditionReady))
	}
	NotReady(s.Pods[0])
	s.After(time.Second)
	s.HasNotFailed(s.After(time.Hour), "an old pod is unready")
	s.O.Manager.Spec.Replicas = ptr.To[int32](4)
	s.O.Pods = append(s.O.Pods, Pod(3, Phase(corev1.PodPending)))
	s.After(time.Second)
	s.HasNotFailed(s.After(time.Hour), "a pod of the old revision is pending")
}

// A partition of 100% leaves the new revision without pods: it cannot fail.
func TestDeadlineWithoutPods(t *testing.T) {
	s := Tell(t, Next(3, Rollback, Partition("100%")), Pod(0, NotReady), Pod(1), Pod(2))
	s.HasNotFailed(s.After(time.Hour), "the revision has no pod")
	Partition("0")(s.O.Manager)
	if s.After(time.Second); ActionsOf(plan.Make(s.O)) == "" {
		t.Error("lowering the partition does nothing")
	}
}

// Pods that move back to the old revision do not use up the deadline.
func TestDeadlineWhileMovingBack(t *testing.T) {
	s := Tell(t, Next(4, Rollback, Limits("0", "1")), Pod(0), Pod(1), Pod(2, V2), Pod(3, V2))
	Partition("100%")(s.O.Manager)
	for index := 2; index < 4; index++ {
		*s.Pods[index] = *Pod(index, NotReady)
		s.After(time.Second)
		s.HasNotFailed(s.After(9*time.Minute), "a pod that moves back is slow")
		*s.Pods[index] = *Pod(index)
		s.After(time.Second)
	}
	Partition("0")(s.O.Manager)
	*s.Pods[3] = *Pod(3, V2, NotReady)
	s.After(time.Second)
	s.HasNotFailed(s.After(9*time.Minute), "the first pod, anew")
	*s.Pods[3] = *Pod(3, V2)
	*s.Pods[2] = *Pod(2, V2, NotReady)
	s.After(time.Second)
	s.HasNotFailed(s.After(9*time.Minute), "the second one: the first was progress, although there had been two")
}

// A scale-down that waits for maxTerminating does not use up the deadline.
func TestDeadlineWhilePaced(t *testing.T) {
	m := Next(1, Rollback, MaxTerminating("1"))
	s := Tell(t, m, Pod(0), Pod(1), Pod(2, V2), Pod(3, Terminating))
	for range 20 {
		s.HasNotFailed(s.After(time.Minute), "it waits for a pod to be gone")
	}
}

// An obstacle to updates in place stops the rollout and is reported, but the revision does not fail: another podUpdatePolicy rolls it out.
func TestObstacleIsNoFailure(t *testing.T) {
	m := Next(3, Rollback, InPlace(v1.InPlaceOnly, 0), func(m *v1.PodManager) {
		m.Spec.Image, m.Spec.Template = "", history.Template(&m.Spec).DeepCopy()
		m.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A"}}
	})
	s := Tell(t, m, Pods3()...)
	s.After(time.Second)
	status := s.After(time.Hour)
	if status.FailedRevision != "" || ReasonIn(&status, v1.ConditionStalled) != v1.ReasonNotInPlace {
		t.Fatalf("failed %q, stalled %s", status.FailedRevision, ReasonIn(&status, v1.ConditionStalled))
	}
	InPlace(v1.InPlaceIfPossible, 0)(s.O.Manager)
	if s.After(time.Second); ActionsOf(plan.Make(s.O)) == "" {
		t.Error("another policy does nothing")
	}
}

// Another client deletes the current revision after a rollback. The failed revision stays failed. If the controller remembers the current revision,
// the controller stores it again. Otherwise pods stay as they are.
func TestCurrentRevisionDeletedWhileRolledBack(t *testing.T) {
	m := Next(3, Rollback, FailedNow)
	s := Tell(t, m, Pods3()...)
	first := plan.Make(s.O)
	lost := s.O.Revisions[0]
	s.O.Revisions = s.O.Revisions[1:]
	if status := s.After(time.Second); status.FailedRevision == "" || ActionsOf(plan.Make(s.O)) != "" || ReasonIn(&status, v1.ConditionStalled) != v1.ReasonRolledBack {
		t.Errorf("forgotten: failed %q, stalled %s, plans %q", status.FailedRevision, ReasonIn(&status, v1.ConditionStalled), ActionsOf(plan.Make(s.O)))
	}
	s.O.Remembered = first.Remember
	again := plan.Make(s.O)
	if len(again.Store) == 0 || again.Store[0].Revision.Name != m.Status.CurrentRevision || again.Store[0].Revision.Revision != lost.Revision {
		t.Errorf("it is not stored again: %v", ActionsOf(again))
	}
	s.O.Pods = s.O.Pods[1:]
	if got := ActionsOf(plan.Make(s.O)); got != "+0 old" {
		t.Errorf("a lost pod: %q", got)
	}
}

// A scale-down with maxTerminating waits for a stuck terminating pod. The status names the pod, and updates in place continue.
func TestStuckWhilePaced(t *testing.T) {
	m := Next(2, MaxTerminating("1"), Limits("0", "1"), InPlace(v1.InPlaceIfPossible, 0))
	s := Tell(t, m, Pod(0), Pod(1), Pod(2), Pod(3, Terminating))
	if got := ActionsOf(plan.Make(s.O)); got != "Update 2" {
		t.Errorf("plans %q", got)
	}
	status := s.After(time.Hour)
	if message := MessageIn(&status, v1.ConditionReady); !strings.Contains(message, "web-3 should have been gone by") {
		t.Errorf("Ready says %q", message)
	}
}

// Pods that never go away delay their replacements. The status reports that as Stalled, not only as a hint.
func TestStuckIsStalled(t *testing.T) {
	for name, m := range map[string]*v1.PodManager{
		"Recreate":            Next(1, Strategy(v1.RecreateStrategy)),
		"TerminationComplete": Next(1, Limits("0", "1"), func(m *v1.PodManager) { m.Spec.PodReplacementPolicy = v1.TerminationComplete }),
	} {
		s := Tell(t, m, Pod(0, Terminating), Pod(1, Terminating))
		if status := s.After(10 * time.Second); ReasonIn(&status, v1.ConditionStalled) != "" {
			t.Errorf("%s: stalled at once: %s", name, MessageIn(&status, v1.ConditionStalled))
		}
		status := s.After(time.Minute)
		message := MessageIn(&status, v1.ConditionStalled)
		if got := ReasonIn(&status, v1.ConditionStalled); got != v1.ReasonStuck ||
			!strings.HasPrefix(message, "web-0 should have been gone by") || !strings.HasSuffix(message, "; 1 more is overdue, too") {
			t.Errorf("%s: stalled is %q: %s", name, got, message)
		}
	}
}

// If the revision that a rollback returned to is lost, the message does not name it any more.
func TestRolledBackToWhatIsLost(t *testing.T) {
	s := Tell(t, Next(3, Rollback, FailedNow), Pods3()...)
	s.After(0)
	s.O.Revisions = s.O.Revisions[1:]
	if status := s.After(time.Second); !strings.Contains(MessageIn(&status, v1.ConditionStalled), "the revision to return to no longer exists") {
		t.Errorf("Stalled says %q", MessageIn(&status, v1.ConditionStalled))
	}
}

// Ready and Stalled are never True together.
func TestNeverReadyAndStalled(t *testing.T) {
	s := Tell(t, Next(3, MaxFailed("2")), Pod(0, V2), Pod(1, V2, Crashing), Pod(2, V2, Crashing))
	s.After(time.Minute)
	for _, p := range s.Pods[1:] {
		upAt(s.O.Now, 2)(p)
	}
	Paused(s.O.Manager)
	status := s.After(time.Second)
	if meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady) && ReasonIn(&status, v1.ConditionStalled) != "" {
		t.Error("Ready and Stalled are both True")
	}
}

// If failing pods recover after the deadline, the rollout continues and is not stalled.
func TestRecoveryAfterTheDeadline(t *testing.T) {
	s := Tell(t, Next(3, Limits("1", "0")), Pod(0), Pod(1), Pod(2), Pod(3, V2, Crashing))
	s.After(time.Second)
	if status := s.After(15 * time.Minute); ReasonIn(&status, v1.ConditionStalled) != v1.ReasonHalted {
		t.Errorf("stalled %s", ReasonIn(&status, v1.ConditionStalled))
	}
	upAt(s.O.Now, 2)(s.Pods[3])
	s.After(time.Second)
	status := s.After(31 * time.Second)
	if ReasonIn(&status, v1.ConditionStalled) != "" || !meta.IsStatusConditionTrue(status.Conditions, v1.ConditionProgressing) {
		t.Errorf("stalled %q, progressing %s", ReasonIn(&status, v1.ConditionStalled), ReasonIn(&status, v1.ConditionProgressing))
	}
}

// When all pods are updated and available, Ready is True, and its message says until when the revision has to prove itself.
func TestBake(t *testing.T) {
	at := upAt(Now, 0)
	s := Tell(t, Next(3, Rollback), Pod(0, V2, at), Pod(1, V2, at), Pod(2, V2, at))
	status := s.After(time.Second)
	want := fmt.Sprintf("3 of 3 pods available; if they stay available until 2026-01-02T03:04:35Z, %s becomes the revision that rollbacks return to", status.UpdateRevision)
	if ReasonIn(&status, v1.ConditionReady) != v1.ReasonBaking || MessageIn(&status, v1.ConditionReady) != want {
		t.Errorf("Ready: %s: %s", ReasonIn(&status, v1.ConditionReady), MessageIn(&status, v1.ConditionReady))
	}
	for _, p := range s.Pods {
		IsIn(Waiting("CrashLoopBackOff", ""), 1)(p)
	}
	s.After(time.Second)
	if status = s.After(30 * time.Second); status.FailedRevision == "" {
		t.Error("a revision that breaks during its bake is not rolled back")
	}
}

// A past outage does not count against the next pod: the deadline starts over when the rollout waits for no pod.
func TestDeadlineForgetsWhatIsOver(t *testing.T) {
	s := Tell(t, Next(3, Rollback, Limits("0", "1"), Partition("2")), Pod(0), Pod(1), Pod(2, V2, NotReady))
	s.HasNotFailed(s.After(9*time.Minute), "the deadline has not passed yet")
	upAt(s.O.Now, 0)(s.Pods[2])
	s.After(2 * time.Hour)
	NotReady(s.Pods[2])
	s.HasNotFailed(s.After(time.Second), "a blip two hours later")
	s.HasNotFailed(s.After(9*time.Minute), "the blip lasts, for less than the deadline")
	if status := s.After(2 * time.Minute); status.FailedRevision == "" {
		t.Error("the deadline never passes")
	}
}

// Raising minReadySeconds makes serving pods unavailable, so the deadline starts over.
func TestDeadlineAfterAnotherMinReady(t *testing.T) {
	s := Tell(t, Next(3, Rollback, Limits("0", "1")), Pod(0), Pod(1, V2), Pod(2, V2, NotReady))
	s.After(9 * time.Minute)
	upAt(s.O.Now, 0)(s.Pods[2])
	upAt(s.O.Now, 0)(s.Pods[1])
	s.O.Manager.Spec.MinReadySeconds = 300
	s.HasNotFailed(s.After(time.Second), "the pods are available later")
	s.HasNotFailed(s.After(2*time.Minute), "they serve")
}
