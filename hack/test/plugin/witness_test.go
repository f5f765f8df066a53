//go:build e2e

package plugin

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
)

// testimony is what was done to pods, the minimum of available pods and the maximum of active ones.
type testimony struct {
	actions      []string
	lowest, most int
}

// witness replays all observed states of the pods.
func witness(watch *harness.PodWatch) testimony {
	var seen testimony
	var before map[types.UID]*corev1.Pod
	watch.Replay(func(_ string, pods []*corev1.Pod, at time.Time) {
		now, available, active := map[types.UID]*corev1.Pod{}, 0, 0
		for _, pod := range pods {
			if now[pod.UID] = pod; !harness.IsActive(pod) {
				continue
			}
			active++
			if health.IsAvailable(pod, 0, at) {
				available++
			}
		}
		if before == nil {
			seen.lowest = available
		} else {
			seen.actions = append(seen.actions, actionsBetween(before, now)...)
		}
		before, seen.lowest, seen.most = now, min(seen.lowest, available), max(seen.most, active)
	})
	return seen
}

// actionsBetween returns what was done to pods between two successive states, which differ in one pod.
func actionsBetween(before, now map[types.UID]*corev1.Pod) (actions []string) {
	for uid, pod := range now {
		switch was := before[uid]; {
		case was == nil:
			actions = append(actions, simulate.Created+" "+pod.Name)
		case was.DeletionTimestamp == nil && pod.DeletionTimestamp != nil:
			actions = append(actions, simulate.Deleted+" "+pod.Name)
		case was.Labels[v1.LabelRevision] != pod.Labels[v1.LabelRevision]:
			actions = append(actions, simulate.Updated+" "+pod.Name)
		}
	}
	for uid, was := range before {
		if now[uid] == nil && was.DeletionTimestamp == nil {
			actions = append(actions, simulate.Deleted+" "+was.Name)
		}
	}
	return actions
}
