package rollout_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// noNode makes a pod wait for a node.
func noNode(p *corev1.Pod) {
	Phase(corev1.PodPending)(p)
	NotReady(p)
	p.Spec.NodeName = ""
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

// If a pod crashed once at its start, was ready within its grace period, and is not ready for a moment, its time to recover starts over. If it
// crashes again, its time is over.
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
