package status

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// WaitsForTermination reports whether terminating pods delay the creation or deletion of others.
func WaitsForTermination(manager *v1.PodManager) bool {
	return manager.PacesScaleDown() || manager.Strategy() == v1.RecreateStrategy || manager.Spec.PodReplacementPolicy == v1.TerminationComplete
}

// overdue returns the terminating pods that should be gone and delay others, sorted by name. wait is the time until the next pod becomes overdue.
func overdue(r Report) (stuck []*corev1.Pod, wait time.Duration) {
	if !WaitsForTermination(r.Manager) {
		return nil, 0
	}
	for _, pod := range r.Pods {
		if pod.DeletionTimestamp == nil {
			continue
		}
		if untilOverdue := podstate.UntilOverdue(pod, r.Now); untilOverdue > 0 {
			wait = requeue.Sooner(wait, untilOverdue)
		} else {
			stuck = append(stuck, pod)
		}
	}
	slices.SortFunc(stuck, func(a, b *corev1.Pod) int { return podstate.ByIndex(a.Name, b.Name) })
	return stuck, wait
}

// isStuck reports whether pods are missing because terminating pods do not go away.
func isStuck(r Report, counts v1.PodManagerStatus) bool {
	stuck, _ := overdue(r)
	return len(stuck) > 0 && int(counts.Replicas) < r.Budget.Desired
}

// isQuotaAboutToBeFree reports whether a quota refuses a pod while terminating pods, which are not overdue, still use that quota.
func isQuotaAboutToBeFree(r Report) bool {
	return r.Failure.Quota() != "" && slices.ContainsFunc(r.Pods, func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil && podstate.UntilOverdue(pod, r.Now) > 0
	})
}

// untilOverdue returns the time until the next pod becomes overdue; zero means never.
func untilOverdue(r Report) time.Duration {
	_, wait := overdue(r)
	return wait
}

// overdueHint names the first pod that is overdue.
func overdueHint(r Report) string {
	stuck, _ := overdue(r)
	if len(stuck) == 0 {
		return ""
	}
	first := stuck[0]
	return fmt.Sprintf("; %s should have been gone by %s, and blocks other pods: look at its node and its finalizers%s",
		first.Name, first.DeletionTimestamp.UTC().Format(time.RFC3339), alike(len(stuck)-1, "overdue"))
}
