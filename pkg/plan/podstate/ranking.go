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
	// inZone and onNode are how many pods are left in the pod's zone and on its node when it is deleted after all pods before it in the order.
	inZone, onNode int
	since          time.Time
	restarts       int32
}

// RankForDeletion sorts pods in the order in which surplus pods are deleted: the least useful pod first. With byAge, it ranks pods by age instead
// of by how long they have been ready. After an update in place a pod becomes ready again, so the time of readiness says little.
func RankForDeletion(pods []*corev1.Pod, byAge bool) []*corev1.Pod {
	all := make([]*usefulness, len(pods))
	for i, pod := range pods {
		since := pod.CreationTimestamp.Time
		if !byAge {
			since = ReadySince(pod)
		}
		all[i] = &usefulness{
			pod: pod, marked: IsMarked(pod), scheduled: pod.Spec.NodeName != "", phase: phaseRank(pod), ready: IsReady(pod),
			cost: deletionCost(pod), since: since, restarts: MostRestarts(pod),
		}
	}
	slices.SortFunc(all, compareUsefulness)
	spread(all, func(u *usefulness) (string, *int) { return u.pod.Spec.NodeName, &u.onNode })
	spread(all, func(u *usefulness) (string, *int) { return u.pod.Labels[corev1.LabelTopologyZone], &u.inZone })
	ranked := make([]*corev1.Pod, len(pods))
	for i := range all {
		ranked[i] = all[i].pod
	}
	return ranked
}

// spread changes the order so that, among pods of equal use, the next pod comes from the place that has the most pods left. counted returns the place
// of a pod, and the field for its count. The pods of a place keep their order, so the count of each pod is known before the pods of all places are
// merged.
func spread(all []*usefulness, counted func(*usefulness) (place string, count *int)) {
	left := map[string]int{}
	for _, u := range all {
		place, _ := counted(u)
		left[place]++
	}
	if len(left) == 1 {
		return
	}
	for _, u := range all {
		place, count := counted(u)
		*count = left[place]
		left[place]--
	}
	slices.SortFunc(all, compareUsefulness)
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
	case a.inZone != b.inZone:
		return -cmp.Compare(a.inZone, b.inZone)
	case a.onNode != b.onNode:
		return -cmp.Compare(a.onNode, b.onNode)
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
