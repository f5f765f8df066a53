package nodes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/pkg/world/dice"
)

// A pod can be bound, and updated, while its kubelet's first status is lost: by a restore, or by a request that failed. The kubelet writes it again.
func TestFirstStatusIsLost(t *testing.T) {
	for seed := range uint64(20) {
		n := New(dice.New(seed), time.Now(), false)
		n.Calm = true
		n.Observed, n.Failed = func(*corev1.Pod) {}, func(*corev1.Pod) {}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", UID: "uid", Generation: 1}}
		pod.Status.Phase = corev1.PodPending
		pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "app:1"}}
		n.Add(pod)
		n.Next(pod)()
		node := pod.Spec.NodeName
		pod.Status, pod.Generation = corev1.PodStatus{Phase: corev1.PodPending}, 2
		for next := n.Next(pod); next != nil; next = n.Next(pod) {
			next()
		}
		if pod.Spec.NodeName != node || !IsReady(pod) || pod.Status.ObservedGeneration != 2 {
			t.Errorf("seed %d: bound to %q, then %q; status %+v; want it ready on the same node", seed, node, pod.Spec.NodeName, pod.Status)
		}
	}
}
