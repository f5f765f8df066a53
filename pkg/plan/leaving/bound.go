package leaving

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// bound lets at most as many pods leave as are desired: the oldest ones. Otherwise pods that tolerate the taint of a drained or lost node, or name
// the node, would get replacements without end, because the replacements are scheduled there, too. A pod that the kubelet of a lost node has started
// leaves in any case: it was there before the node was lost. The other pods still count, and wait.
func (f *Found) bound(manager *v1.PodManager) {
	desired := manager.DesiredReplicas()
	if len(f.Leave) <= desired {
		return
	}
	byAge := slices.SortedFunc(slices.Values(f.Leave), func(a, b Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), podstate.ByIndex(a.Name, b.Name))
	})
	stay := map[*corev1.Pod]bool{}
	for _, pod := range byAge[desired:] {
		if pod.Cause == Lost && pod.Status.StartTime != nil {
			continue
		}
		stay[pod.Pod] = true
		f.Stay, f.Waiting = append(f.Stay, pod.Pod), append(f.Waiting, pod)
	}
	f.Leave = slices.DeleteFunc(f.Leave, func(pod Pod) bool { return stay[pod.Pod] })
}
