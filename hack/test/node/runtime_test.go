//go:build e2e

package node

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// container returns the runtime's ID of a pod's container or sandbox.
func (s *space) container(uid types.UID, kind string) string {
	s.T.Helper()
	id := s.ctr("containers", "list", "--quiet", fmt.Sprintf(`labels."io.kubernetes.pod.uid"==%s,labels."io.cri-containerd.kind"==%s`, uid, kind))
	if id == "" || strings.Contains(id, "\n") {
		s.T.Fatalf("the runtime has these containers of the kind %s: %q, want one", kind, id)
	}
	return id
}

// The test kills a container, or the sandbox that holds the pod's network, in the runtime. The kubelet restarts the container. In the meantime the
// PodManager's status is true, and the controller leaves the pod alone. Then the PodManager is Ready again. A container becomes ready only when the
// test allows it, so the test cannot miss the time when it is not ready.
func TestKilledInRuntime(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"container", "sandbox"} {
		t.Run(kind, func(t *testing.T) {
			s := newSpace(t)
			s.apply(spec(2, inPlace, "", web("unready", "")))
			s.awaitOpened(2)
			before := s.pods()
			s.ctr("task", "kill", "--signal", "SIGKILL", s.container(before[1].UID, kind))
			s.Await("the status to report the killed pod", func() (any, bool) {
				manager := s.manager()
				ready := harness.ConditionOf(manager, v1.ConditionReady)
				return harness.Brief(manager), manager.Status.Replicas == 2 && manager.Status.ReadyReplicas == 1 && manager.Status.AvailableReplicas == 1 &&
					ready.Reason == v1.ReasonPodsNotReady && strings.Contains(ready.Message, before[1].Name)
			})
			s.awaitOpened(2)
			after := s.pods()
			s.stayed(before[:1], after[:1], 0)
			if kind == "sandbox" {
				before[1].Status.PodIP = after[1].Status.PodIP // another sandbox has another address
			}
			s.stayed(before[1:], after[1:], 1)
			s.answers("unready")
		})
	}
}

// awaitOpened makes pods with the image tag unready ready, and waits until the PodManager is Ready.
func (s *space) awaitOpened(replicas int) {
	s.T.Helper()
	opening := &opening{s, map[types.UID]bool{}}
	s.Await("the pods to be ready", func() (any, bool) { ready := opening.upTo(replicas); return ready, ready == replicas })
	s.awaitReady(replicas)
}

// A pod that fills a volume beyond its own limit is evicted by its kubelet, which counts as a failure of the revision: its failure record passes to
// the replacement, or the revision is rolled back. If the container ends on its own with exit code 0, the kubelet may report the pod as Succeeded
// without a reason. In that case it is only replaced.
func TestFilledVolume(t *testing.T) {
	t.Parallel()
	const volume, mount = ", volumes: [{name: scratch, emptyDir: {sizeLimit: 1Mi}}]", ", volumeMounts: [{name: scratch, mountPath: /scratch}]"
	for name, test := range map[string]struct {
		more      string
		isExcused bool
	}{
		"ends by itself": {isExcused: true},
		"is killed":      {more: ", env: [{name: LINGER, value: 'true'}]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			before := s.try(volume, mount+test.more)
			full := updated(before)
			s.tell(full, "/fill?mib=2")
			s.Await("the full pod to be replaced, and its revision to be blamed", func() (any, bool) {
				manager, isReplaced := s.manager(), len(s.left([]corev1.Pod{*full})) == 0
				isBlamed := manager.Status.FailedRevision != "" || manager.Status.Rollout != nil && len(manager.Status.Rollout.Failing) > 0
				return harness.Brief(manager), isReplaced && (isBlamed || test.isExcused)
			})
		})
	}
}
