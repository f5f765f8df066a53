package podstate

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// usefulness decides which pod is deleted first. It is computed once for each pod, because sorting compares it many times.
type usefulness struct {
	pod       *corev1.Pod
	marked    bool
	scheduled bool
	phase     int
	ready     bool
	cost      int
	colocated int // how many of the ranked pods run on its node
	since     time.Time
	restarts  int32
}

// RankForDeletion sorts pods in the order in which surplus pods are deleted: the least useful pod first. With byAge, it ranks pods by age instead
// of by how long they have been ready. After an update in place a pod becomes ready again, so the time of readiness says little.
func RankForDeletion(pods []*corev1.Pod, byAge bool) []*corev1.Pod {
	onNode := map[string]int{}
	for _, pod := range pods {
		onNode[pod.Spec.NodeName]++
	}
	all := make([]*usefulness, len(pods))
	for i, pod := range pods {
		since := pod.CreationTimestamp.Time
		if !byAge {
			since = ReadySince(pod)
		}
		all[i] = &usefulness{
			pod: pod, marked: IsMarked(pod), scheduled: pod.Spec.NodeName != "", phase: phaseRank(pod), ready: IsReady(pod),
			cost: deletionCost(pod), colocated: onNode[pod.Spec.NodeName], since: since, restarts: MostRestarts(pod),
		}
	}
	slices.SortFunc(all, compareUsefulness)
	ranked := make([]*corev1.Pod, len(pods))
	for i := range all {
		ranked[i] = all[i].pod
	}
	return ranked
}

func compareUsefulness(a, b *usefulness) int {
	switch {
	case a.marked != b.marked:
		return -FalseFirst(a.marked, b.marked)
	case a.scheduled != b.scheduled:
		return FalseFirst(a.scheduled, b.scheduled)
	case a.phase != b.phase:
		return cmp.Compare(a.phase, b.phase)
	case a.ready != b.ready:
		return FalseFirst(a.ready, b.ready)
	case a.cost != b.cost:
		return cmp.Compare(a.cost, b.cost)
	case a.colocated != b.colocated:
		return -cmp.Compare(a.colocated, b.colocated)
	case !a.since.Equal(b.since):
		return -a.since.Compare(b.since)
	case a.restarts != b.restarts:
		return -cmp.Compare(a.restarts, b.restarts)
	case !a.pod.CreationTimestamp.Equal(&b.pod.CreationTimestamp):
		return -a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time)
	default:
		// The result must not depend on the order of the input.
		return -cmp.Compare(a.pod.Name, b.pod.Name)
	}
}

func FalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func phaseRank(pod *corev1.Pod) int {
	switch pod.Status.Phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	default:
		return 0
	}
}

// deletionCost returns the value of the pod's deletion cost annotation, 0 by default. The API server accepts only numbers there.
func deletionCost(pod *corev1.Pod) int {
	text, found := pod.Annotations[corev1.PodDeletionCost]
	if !found {
		return 0
	}
	cost, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int(cost)
}
