package plan

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
)

// story is what a PodManager says of its pods as time goes by. Nothing is done to them but what the test does.
type story struct {
	t     *testing.T
	start time.Time
	o     Observed
	pods  []*corev1.Pod
}

// tell begins with a rollout from nginx.
func tell(t *testing.T, m *v1.PodManager, pods ...*corev1.Pod) *story {
	t.Helper()
	s := &story{t: t, start: now, o: rollingOut(m, pods...), pods: pods}
	s.after(0)
	return s
}

// after lets some time pass and returns the status then.
func (s *story) after(wait time.Duration) v1.PodManagerStatus {
	s.t.Helper()
	s.o.Now = s.o.Now.Add(wait)
	plan := Make(s.o)
	report := reportOf(s.o)
	report.Plan = plan
	status, _ := Status(report)
	s.o.Manager = s.o.Manager.DeepCopy()
	s.o.Manager.Status = status
	if reasonOf(&status, v1.ConditionStalled) != "" && plan.acts() {
		s.t.Errorf("stalled (%s) while acting: %v", reasonOf(&status, v1.ConditionStalled), movesOf(plan))
	}
	return status
}

// failingIn are the pods that have not recovered.
func failingIn(status v1.PodManagerStatus) []v1.FailingPod {
	return slices.DeleteFunc(slices.Clone(status.Rollout.Failing), func(pod v1.FailingPod) bool { return pod.Recovered })
}

// hasNotFailed fails the test if a verdict was passed.
func (s *story) hasNotFailed(status v1.PodManagerStatus, why string) {
	s.t.Helper()
	if status.FailedRevision != "" || reasonOf(&status, v1.ConditionStalled) == v1.ReasonDeadline {
		s.t.Errorf("%s: failed %q, stalled %q: %s", why, status.FailedRevision, reasonOf(&status, v1.ConditionStalled), messageOf(&status, v1.ConditionStalled))
	}
}

func isIn(state corev1.ContainerState, restarts int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		container(state, ended("Error", 1))(p)
		p.Status.ContainerStatuses[0].RestartCount = restarts
	}
}

// upAt makes a pod ready at a time, by the clock of its node.
func upAt(at time.Time, restarts int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		readyFor(now.Sub(at))(p)
		crashed(restarts, now.Sub(at))(p)
	}
}

var rollback = onFailure(v1.RollbackOnFailure)

// The grace period is the pod's, not the rollout's.
func TestEachPodHasItsOwnGrace(t *testing.T) {
	s := tell(t, next(3, rollback), pod(0), pod(1, v2, crashing), pod(2, v2))
	upAt(s.o.Now.Add(5*time.Second), 1)(s.pods[1])
	s.after(5 * time.Second)
	crashing(s.pods[2])
	s.after(23 * time.Second)
	upAt(s.o.Now.Add(5*time.Second), 1)(s.pods[2])
	if status := s.after(5 * time.Second); status.FailedRevision != "" {
		t.Errorf("rolled back with all pods available: %s", messageOf(&status, v1.ConditionProgressing))
	}
	crashing(s.pods[2])
	if status := s.after(24 * time.Second); status.FailedRevision != "" {
		t.Error("rolled back before the second pod has had its time")
	}
	if status := s.after(time.Second); status.FailedRevision == "" {
		t.Error("not rolled back when it has")
	}
}

// What a pod has recovered from is over.
func TestForgivenessIsNotRevoked(t *testing.T) {
	s := tell(t, next(3, rollback, partition("2")), pod(0), pod(1), pod(2, v2, crashing))
	upAt(s.o.Now.Add(5*time.Second), 1)(s.pods[2])
	s.after(5 * time.Second)
	if status := s.after(30 * time.Second); len(failingIn(status)) != 0 {
		t.Errorf("not forgiven: %v", status.Rollout.Failing)
	}
	if status := s.after(240 * time.Hour); len(status.Rollout.Failing) != 0 {
		t.Errorf("not forgotten: %v", status.Rollout.Failing)
	}
	notReady(s.pods[2])
	s.after(time.Second)
	s.hasNotFailed(s.after(31*time.Second), "unready for half a minute")
	isIn(waiting("CrashLoopBackOff", ""), 2)(s.pods[2])
	s.after(time.Second)
	s.hasNotFailed(s.after(29*time.Second), "the next failure has its own time")
	if status := s.after(time.Second); status.FailedRevision == "" {
		t.Error("the next failure does not count at all")
	}
}

// Nodes whose clocks are wrong condemn nobody.
func TestClocksOfNodes(t *testing.T) {
	for name, skew := range map[string]time.Duration{"ahead": 2 * time.Minute, "far ahead": time.Hour, "behind": -2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, next(3, rollback), pod(0), pod(1), pod(2, v2, crashing))
			upAt(s.o.Now.Add(5*time.Second).Add(skew), 1)(s.pods[2])
			s.after(5 * time.Second)
			s.hasNotFailed(s.after(26*time.Second), "it is up")
			if status := s.after(10 * time.Second); status.FailedRevision != "" || len(failingIn(status)) > 0 {
				t.Errorf("failed %q, failing %v; it has been up for the grace period", status.FailedRevision, status.Rollout.Failing)
			}
		})
	}
}

// A canary rests: what old pods do in the meantime, or pods that are made from the old revision, is not its doing.
func TestDeadlineOfARestingCanary(t *testing.T) {
	s := tell(t, next(3, rollback, partition("2")), pod(0), pod(1), pod(2, v2))
	if status := s.after(time.Hour); reasonOf(&status, v1.ConditionReady) != v1.ReasonPartition {
		t.Fatalf("Ready is %s", reasonOf(&status, v1.ConditionReady))
	}
	notReady(s.pods[0])
	s.after(time.Second)
	s.hasNotFailed(s.after(time.Hour), "an old pod is unready")
	s.o.Manager.Spec.Replicas = ptr.To[int32](4)
	s.o.Pods = append(s.o.Pods, pod(3, phase(corev1.PodPending)))
	s.after(time.Second)
	s.hasNotFailed(s.after(time.Hour), "a pod of the old revision is pending")
}

// With everything left as it is by the partition, there is nothing to fail.
func TestDeadlineWithoutPods(t *testing.T) {
	s := tell(t, next(3, rollback, partition("100%")), pod(0, notReady), pod(1), pod(2))
	s.hasNotFailed(s.after(time.Hour), "the revision has no pod")
	partition("0")(s.o.Manager)
	if s.after(time.Second); movesOf(Make(s.o)) == "" {
		t.Error("lowering the partition does nothing")
	}
}

// Moving back takes as long as it takes.
func TestDeadlineWhileMovingBack(t *testing.T) {
	s := tell(t, next(4, rollback, limits("0", "1")), pod(0), pod(1), pod(2, v2), pod(3, v2))
	partition("100%")(s.o.Manager)
	for index := 2; index < 4; index++ {
		*s.pods[index] = *pod(index, notReady)
		s.after(time.Second)
		s.hasNotFailed(s.after(9*time.Minute), "a pod that moves back is slow")
		*s.pods[index] = *pod(index)
		s.after(time.Second)
	}
	partition("0")(s.o.Manager)
	*s.pods[3] = *pod(3, v2, notReady)
	s.after(time.Second)
	s.hasNotFailed(s.after(9*time.Minute), "the first pod, anew")
	*s.pods[3] = *pod(3, v2)
	*s.pods[2] = *pod(2, v2, notReady)
	s.after(time.Second)
	s.hasNotFailed(s.after(9*time.Minute), "the second one: the first was progress, although there had been two")
}

// A scale-down at a pace is no lack of progress.
func TestDeadlineWhilePaced(t *testing.T) {
	m := next(1, rollback, maxTerminating("1"))
	s := tell(t, m, pod(0), pod(1), pod(2, v2), pod(3, terminating))
	for range 20 {
		s.hasNotFailed(s.after(time.Minute), "it waits for a pod to be gone")
	}
}

// An obstacle stops a rollout, and is told. It is not the revision's failure: another policy carries it out.
func TestObstacleIsNoFailure(t *testing.T) {
	m := next(3, rollback, inPlace(v1.InPlaceOnly, 0), func(m *v1.PodManager) {
		m.Spec.Image, m.Spec.Template = "", Template(&m.Spec).DeepCopy()
		m.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A"}}
	})
	s := tell(t, m, pods3()...)
	s.after(time.Second)
	status := s.after(time.Hour)
	if status.FailedRevision != "" || reasonOf(&status, v1.ConditionStalled) != v1.ReasonNotInPlace {
		t.Fatalf("failed %q, stalled %s", status.FailedRevision, reasonOf(&status, v1.ConditionStalled))
	}
	inPlace(v1.InPlaceIfPossible, 0)(s.o.Manager)
	if s.after(time.Second); movesOf(Make(s.o)) == "" {
		t.Error("another policy does nothing")
	}
}

// Somebody deletes what there is to return to, while all has returned. The failed revision stays failed; what is remembered is
// stored again, and if nobody remembers, pods stay as they are.
func TestCurrentRevisionDeletedWhileRolledBack(t *testing.T) {
	m := next(3, rollback, failedNow)
	s := tell(t, m, pods3()...)
	plan := Make(s.o)
	s.o.Revisions = s.o.Revisions[1:]
	if status := s.after(time.Second); status.FailedRevision == "" || movesOf(Make(s.o)) != "" || reasonOf(&status, v1.ConditionStalled) != v1.ReasonRolledBack {
		t.Errorf("forgotten: failed %q, stalled %s, plans %q", status.FailedRevision, reasonOf(&status, v1.ConditionStalled), movesOf(Make(s.o)))
	}
	s.o.Remembered = plan.Remember
	again := Make(s.o)
	if len(again.Store) == 0 || again.Store[0].Revision.Name != m.Status.CurrentRevision {
		t.Errorf("it is not stored again: %v", digest(again))
	}
	s.o.Pods = s.o.Pods[1:]
	if got := movesOf(Make(s.o)); got != "+0 old" {
		t.Errorf("a lost pod: %q", got)
	}
}

// A paced scale-down waits for a pod that does not go. That is told, and changes in place go on.
func TestStuckWhilePaced(t *testing.T) {
	m := next(2, maxTerminating("1"), limits("0", "1"), inPlace(v1.InPlaceIfPossible, 0))
	s := tell(t, m, pod(0), pod(1), pod(2), pod(3, terminating))
	if got := movesOf(Make(s.o)); got != "Change 2" {
		t.Errorf("plans %q", got)
	}
	status := s.after(time.Hour)
	if message := messageOf(&status, v1.ConditionReady); !strings.Contains(message, "web-3 should have been gone since") {
		t.Errorf("Ready says %q", message)
	}
}

// Ready and Stalled never contradict each other, nor what is done.
func TestNeverReadyAndStalled(t *testing.T) {
	s := tell(t, next(3, maxFailed("2")), pod(0, v2), pod(1, v2, crashing), pod(2, v2, crashing))
	s.after(time.Minute)
	for _, p := range s.pods[1:] {
		upAt(s.o.Now, 2)(p)
	}
	paused(s.o.Manager)
	status := s.after(time.Second)
	if meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady) && reasonOf(&status, v1.ConditionStalled) != "" {
		t.Error("both")
	}
}

// A halt that ends after the deadline: the rollout goes on, and nothing is stalled.
func TestRecoveryAfterTheDeadline(t *testing.T) {
	s := tell(t, next(3, limits("1", "0")), pod(0), pod(1), pod(2), pod(3, v2, crashing))
	s.after(time.Second)
	if status := s.after(15 * time.Minute); reasonOf(&status, v1.ConditionStalled) != v1.ReasonHalted {
		t.Errorf("stalled %s", reasonOf(&status, v1.ConditionStalled))
	}
	upAt(s.o.Now, 2)(s.pods[3])
	s.after(time.Second)
	status := s.after(31 * time.Second)
	if reasonOf(&status, v1.ConditionStalled) != "" || !meta.IsStatusConditionTrue(status.Conditions, v1.ConditionProgressing) {
		t.Errorf("stalled %q, progressing %s", reasonOf(&status, v1.ConditionStalled), reasonOf(&status, v1.ConditionProgressing))
	}
}

// All pods are updated and available: it is Ready, and says until when the revision has to prove itself.
func TestBake(t *testing.T) {
	at := upAt(now, 0)
	s := tell(t, next(3, rollback), pod(0, v2, at), pod(1, v2, at), pod(2, v2, at))
	status := s.after(time.Second)
	want := fmt.Sprintf("3 of 3 pods available; if they stay so until 2026-01-02T03:04:35Z, %s is the revision to return to", status.UpdateRevision)
	if reasonOf(&status, v1.ConditionReady) != v1.ReasonBaking || messageOf(&status, v1.ConditionReady) != want {
		t.Errorf("Ready: %s: %s", reasonOf(&status, v1.ConditionReady), messageOf(&status, v1.ConditionReady))
	}
	for _, p := range s.pods {
		isIn(waiting("CrashLoopBackOff", ""), 1)(p)
	}
	s.after(time.Second)
	if status = s.after(30 * time.Second); status.FailedRevision == "" {
		t.Error("a revision that breaks during its bake is not rolled back")
	}
}
