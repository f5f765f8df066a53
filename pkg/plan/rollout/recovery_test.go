package rollout_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// noNode makes a pod wait for a node.
func noNode(p *corev1.Pod) {
	Phase(corev1.PodPending)(p)
	NotReady(p)
	p.Spec.NodeName = ""
}

// noRoom makes the scheduler find no node for a pod.
func noRoom(p *corev1.Pod) {
	noNode(p)
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
}

// A lack of capacity may stall a rollout, but rolls nothing back.
func TestLackOfRoomRollsNothingBack(t *testing.T) {
	for name, pods := range map[string][]*corev1.Pod{
		"scaled up while it bakes":                       {Pod(0, V2), Pod(1, V2), Pod(2, V2, noNode)},
		"the pod of a canary is replaced, and waits":     {Pod(0), Pod(1), Pod(2, V2, noNode)},
		"a new pod waits for a node, and an old one too": {Pod(0), Pod(1, noNode), Pod(2, V2, noNode)},
	} {
		t.Run(name, func(t *testing.T) {
			status := Tell(t, Next(3, Rollback, Limits("0", "1")), pods...).After(time.Hour)
			if status.FailedRevision != "" {
				t.Errorf("%s is rolled back", status.FailedRevision)
			}
		})
	}
	slow := Tell(t, Next(3, Rollback, Limits("0", "1")), Pod(0), Pod(1, V2, noNode), Pod(2, V2, NotReady))
	if status := slow.After(time.Hour); status.FailedRevision == "" {
		t.Error("a pod that has a node and does not become ready is not rolled back")
	}
}

// A pod crashed once at its start, and became ready within its grace period. If it is not ready for a moment, its time to recover starts over. If it
// crashes again, the revision has failed.
func TestReadinessBlip(t *testing.T) {
	tests := map[string]struct {
		then   func(*corev1.Pod)
		failed bool
	}{
		"not ready for a moment": {then: NotReady},
		"crashes again":          {then: Crashing, failed: true},
		"crashes again, and is yet to be restarted": {failed: true, then: func(p *corev1.Pod) {
			Container(Terminated("Error", 1), Terminated("Error", 1))(p)
			p.Status.ContainerStatuses[0].RestartCount = 1
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := Pod(2, V2, NotReady)
			s := Tell(t, Next(3, Rollback, Limits("0", "1")), Pod(0), Pod(1), pod)
			Crashed(1, 0)(pod)
			s.HasNotFailed(s.After(time.Second), "it has crashed once")
			ReadyFor(0)(pod)
			s.HasNotFailed(s.After(5*time.Second), "it is ready")
			s.HasNotFailed(s.After(28*time.Second), "it has been ready for 28 s")
			test.then(pod)
			if status := s.After(time.Second); (status.FailedRevision != "") != test.failed {
				t.Errorf("failed: %q, %v", status.FailedRevision, status.Rollout)
			}
			if !test.failed {
				if status := s.After(v1.DefaultGracePeriodSeconds * time.Second); status.FailedRevision == "" {
					t.Error("it stays not ready for the whole grace period, and nothing is rolled back")
				}
			}
		})
	}
}

// cutOff makes a ready pod look as the node controller leaves it when the kubelet stops reporting.
func cutOff(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	p.Status.ContainerStatuses[0].Ready = true
}

// replacesLost makes pods leave nodes that have been lost for a minute.
func replacesLost(m *v1.PodManager) {
	m.Spec.Disruption = &v1.Disruption{NodeLoss: &v1.NodeLoss{ReplaceAfterSeconds: ptr.To[int32](60)}}
}

// lostNodes makes an observation in which these nodes have been lost for an hour.
func lostNodes(names ...string) func(*plan.Observed) {
	return func(o *plan.Observed) {
		o.NodeOf = func(of string) leaving.Node {
			if slices.Contains(names, of) {
				return leaving.Node{LostSince: Now.Add(-time.Hour)}
			}
			return leaving.Node{}
		}
	}
}

// A pod crashed once at its start, and has been ready since. If its node is lost or evicts it, the revision does not fail for that. The replacement
// gets its own time to become ready.
func TestNodeCondemnsNothing(t *testing.T) {
	next := func(s *plan.Observed, change ...func(*corev1.Pod)) {
		change = append([]func(*corev1.Pod){V2, NotReady, CreatedAgo(-s.Now.Sub(Now)), Replacing("web-2")}, change...)
		s.Pods = append(s.Pods[:2:2], Pod(3, change...))
	}
	evicted := func(s *plan.Observed) { Evicted(s.Pods[2]); s.Pods[2].Status.ContainerStatuses = nil }
	tests := map[string]struct {
		then func(*plan.Observed)
		// The test calls then, waits for this long, and calls last.
		wait   time.Duration
		last   func(*plan.Observed)
		failed bool
	}{
		"nothing happens":  {then: func(*plan.Observed) {}, wait: time.Hour},
		"its node is lost": {then: func(s *plan.Observed) { cutOff(s.Pods[2]) }, wait: time.Hour},
		"its node is lost, and is back": {then: func(s *plan.Observed) {
			cutOff(s.Pods[2])
			s.Pods[2].Status.Conditions[0].Reason = "ContainersNotReady"
		}, wait: 27 * time.Second},
		"evicted":                                       {then: func(s *plan.Observed) { s.Pods = s.Pods[:2:2] }, wait: time.Second},
		"evicted, replaced":                             {then: func(s *plan.Observed) { next(s) }, wait: 27 * time.Second},
		"evicted, and there is no room":                 {then: func(s *plan.Observed) { next(s, noRoom) }, wait: time.Hour},
		"evicted, there is room again":                  {then: func(s *plan.Observed) { next(s, noRoom) }, last: func(s *plan.Observed) { NotReady(s.Pods[2]); s.Pods[2].Spec.NodeName = "node-3" }, wait: time.Hour},
		"evicted, the next one has yet to be scheduled": {then: func(s *plan.Observed) { next(s, noNode) }, wait: time.Minute, failed: true},
		"evicted, the next one crashes":                 {then: func(s *plan.Observed) { next(s, Crashing) }, wait: time.Minute, failed: true},
		"evicted, the next one is not ready":            {then: func(s *plan.Observed) { next(s) }, wait: time.Minute, failed: true},
		"evicted by its kubelet":                        {then: evicted, wait: time.Second},
		"ends":                                          {then: func(s *plan.Observed) { Phase(corev1.PodFailed)(s.Pods[2]) }, wait: time.Second, failed: true},
		"crashes again":                                 {then: func(s *plan.Observed) { Crashing(s.Pods[2]) }, wait: time.Second, failed: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			slow := func(m *v1.PodManager) {
				m.Spec.MinReadySeconds, m.Spec.ProgressDeadlineSeconds = 1200, ptr.To[int32](3600)
			}
			pod := Pod(2, V2, NotReady)
			s := Tell(t, Next(3, Rollback, Limits("0", "1"), slow), Pod(0), Pod(1), pod)
			Crashed(1, 0)(pod)
			s.After(time.Second)
			ReadyFor(-time.Second)(pod)
			s.After(time.Second)
			s.HasNotFailed(s.After(10*time.Minute), "it has been ready for 10 minutes")
			test.then(&s.O)
			s.After(time.Second)
			s.After(test.wait / 2)
			if s.After(test.wait / 2); test.last != nil {
				test.last(&s.O)
			}
			if status := s.After(time.Second); (status.FailedRevision != "") != test.failed {
				t.Errorf("failed: %q, %v", status.FailedRevision, status.Rollout)
			}
		})
	}
}

// A pod crashes, and its node is lost before the pod is ready. Its replacement takes over its record, but has its own time to become ready. The halt
// ends when the replacement has been available for long enough.
func TestReplacementOfLostPodRecovers(t *testing.T) {
	patient := func(m *v1.PodManager) { m.Spec.FailurePolicy.GracePeriodSeconds = ptr.To[int32](300) }
	pod := Pod(2, V2, NotReady)
	s := Tell(t, Next(3, Rollback, Limits("0", "1"), patient, replacesLost), Pod(0), Pod(1), pod)
	Crashing(pod)
	s.After(time.Second)
	s.After(250 * time.Second)
	lostNodes("node-2")(&s.O)
	s.After(time.Second)
	replacement := Pod(3, V2, Replacing("web-2"), NotReady, CreatedAgo(-252*time.Second))
	s.O.Pods = append(s.O.Pods, replacement)
	s.After(time.Second)
	s.HasNotFailed(s.After(290*time.Second), "the replacement still has 10 seconds")
	ReadyFor(-543 * time.Second)(replacement)
	s.After(time.Second)
	status := s.After(301 * time.Second)
	if s.HasNotFailed(status, "the replacement has been available for long enough"); failingIn(status) > 0 {
		t.Errorf("failing are %v", status.Rollout.Failing)
	}
}

// A pod crashed once at its start, and has recovered. Its node, whose clock is an hour ahead, is lost for a while, and the pod is not ready yet when
// the node is back. What the pod has recovered from is over.
func TestLostNodeBringsBackNoFailure(t *testing.T) {
	pod := Pod(2, V2, ReadyFor(2*time.Minute), Crashed(1, -time.Hour), Written(3*time.Minute))
	s := Tell(t, Next(3, Limits("0", "1"), replacesLost), Pod(0), Pod(1), pod)
	lostNodes("node-2")(&s.O)
	s.After(time.Second)
	s.After(time.Second)
	lostNodes()(&s.O)
	NotReady(pod)
	Written(-2 * time.Second)(pod)
	s.After(time.Second)
	if status := s.After(time.Second); failingIn(status) > 0 {
		t.Errorf("failing are %v", status.Rollout.Failing)
	}
}

// Pods of a drained node serve until they are gone, so that the deadline does not wait for their replacements. It does wait for the other pods of the
// rollout, however long the node stays cordoned, and for a replacement once the pod before it is gone.
func TestDeadlineDuringDrain(t *testing.T) {
	starts := func(p *corev1.Pod) { NotReady(p); p.Spec.NodeName = "node-9" }
	tests := map[string]struct {
		pods []*corev1.Pod
		// The test cordons node-2, calls drained, and lets the deadline pass. Then it calls last, and lets the time more pass.
		drained, last func(*plan.Observed)
		more          time.Duration
		failed        bool
	}{
		"no room": {
			pods:    []*corev1.Pod{Pod(0, V2), Pod(1, V2), Pod(2, V2)},
			drained: func(o *plan.Observed) { o.Pods = append(o.Pods, Pod(3, V2, noRoom)) },
			last:    func(o *plan.Observed) { starts(o.Pods[3]) },
		},
		"no room, and then it is evicted": {
			pods:    []*corev1.Pod{Pod(0, V2), Pod(1, V2), Pod(2, V2)},
			drained: func(o *plan.Observed) { o.Pods = append(o.Pods, Pod(3, V2, noRoom)) },
			last:    func(o *plan.Observed) { starts(o.Pods[3]); o.Pods = append(o.Pods[:2:2], o.Pods[3]) },
			more:    9 * time.Minute,
		},
		"evicted, and the next one does not become ready": {
			pods:    []*corev1.Pod{Pod(0, V2), Pod(1, V2), Pod(2, V2)},
			drained: func(o *plan.Observed) { o.Pods = append(o.Pods, Pod(3, V2, noRoom)) },
			last:    func(o *plan.Observed) { starts(o.Pods[3]); o.Pods = append(o.Pods[:2:2], o.Pods[3]) },
			more:    11 * time.Minute, failed: true,
		},
		"replaced, and another one does not become ready": {
			pods:    []*corev1.Pod{Pod(0), Pod(1, V2, NotReady), Pod(2, V2)},
			drained: func(o *plan.Observed) { o.Pods = append(o.Pods, Pod(3, V2)) },
			failed:  true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			longBake := func(m *v1.PodManager) { m.Spec.FailurePolicy.BakeSeconds = ptr.To[int32](3 * 3600) }
			s := Tell(t, Next(3, Rollback, Limits("0", "1"), replacesDrained, longBake), test.pods...)
			cordoned("node-2")(&s.O)
			test.drained(&s.O)
			for range 11 {
				s.After(time.Minute)
			}
			if test.last != nil {
				test.last(&s.O)
			}
			s.After(time.Second)
			if status := s.After(test.more); (status.FailedRevision != "") != test.failed || !test.failed && ReasonIn(&status, v1.ConditionStalled) != "" {
				t.Errorf("failed: %q, stalled: %s, %v", status.FailedRevision, MessageIn(&status, v1.ConditionStalled), status.Rollout)
			}
		})
	}
}

// A pod that fails, and whose replacements fail, counts as one failing pod, however often it is replaced and in whatever way it goes away.
func TestOnePodReplacedAgainAndAgainCountsOnce(t *testing.T) {
	tests := map[string]func(s *plan.Observed, pod *corev1.Pod){
		"it has failed": func(s *plan.Observed, pod *corev1.Pod) {
			Phase(corev1.PodFailed)(pod)
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: Terminated("Error", 1)}}
			pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt.Time = s.Now
		},
		"a user deletes it": func(s *plan.Observed, pod *corev1.Pod) { s.Pods = s.Pods[:len(s.Pods)-1] },
		"its node is lost": func(s *plan.Observed, pod *corev1.Pod) {
			var names []string
			for _, p := range s.Pods[2:] {
				names = append(names, p.Spec.NodeName)
			}
			lostNodes(names...)(s)
		},
	}
	for name, goes := range tests {
		t.Run(name, func(t *testing.T) {
			patient := func(m *v1.PodManager) { m.Spec.FailurePolicy.GracePeriodSeconds = ptr.To[int32](3600) }
			s := Tell(t, Next(3, MaxFailed("2"), Limits("0", "1"), replacesLost, patient), Pod(0), Pod(1), Pod(2, V2, Crashing))
			for try := range 3 {
				s.After(time.Second)
				goes(&s.O, s.O.Pods[len(s.O.Pods)-1])
				s.After(time.Second)
				if status := s.After(2 * time.Minute); failingIn(status) != 1 {
					t.Errorf("%d: before it is replaced, failing are %v", try, status.Rollout.Failing)
				}
				create := plan.Make(s.O).Create
				if len(create) != 1 {
					t.Fatalf("%d: creates %d pods, %v", try, len(create), s.O.Manager.Status.Rollout)
				}
				s.O.Pods = append(s.O.Pods, Created(create[0], V2, Crashing, CreatedAgo(-s.O.Now.Sub(Now))))
				if status := s.After(time.Second); failingIn(status) != 1 {
					t.Errorf("%d: failing are %v", try, status.Rollout.Failing)
				}
			}
		})
	}
}
