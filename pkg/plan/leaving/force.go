package leaving

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// ToForce returns the terminating pods that are to be deleted without waiting for their kubelet, and the time until there are more. A pod whose grace
// period is zero does not wait for its kubelet, but for another client to remove a finalizer.
func ToForce(manager *v1.PodManager, nodeOf func(name string) Node, terminating []*corev1.Pod, now time.Time) (pods []*corev1.Pod, wait time.Duration) {
	rules := manager.Spec.Disruption
	if rules == nil || rules.NodeLoss == nil || rules.NodeLoss.ForceDeleteAfterSeconds == nil || nodeOf == nil {
		return nil, 0
	}
	after := time.Duration(*rules.NodeLoss.ForceDeleteAfterSeconds) * time.Second
	for _, pod := range terminating {
		since, grace := nodeOf(pod.Spec.NodeName).LostSince, pod.DeletionGracePeriodSeconds
		if since.IsZero() || grace != nil && *grace == 0 {
			continue
		}
		deleted := pod.DeletionTimestamp.Time
		if grace != nil {
			deleted = deleted.Add(-time.Duration(*grace) * time.Second)
		}
		if deleted.After(since) {
			since = deleted
		}
		if until := since.Add(after).Sub(now); until > 0 {
			wait = requeue.Sooner(wait, until)
		} else {
			pods = append(pods, pod)
		}
	}
	return pods, wait
}
