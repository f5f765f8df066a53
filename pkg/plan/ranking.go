package plan

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// rank sorts pods by who goes first when there are too many: the least useful pod first. For how long a pod has been ready
// tells its use only if pods are never changed in place, which makes them ready anew; byAge goes by their age then.
func rank(pods []*corev1.Pod, byAge bool) []*corev1.Pod {
	usefulSince := readySince
	if byAge {
		usefulSince = func(pod *corev1.Pod) time.Time { return pod.CreationTimestamp.Time }
	}
	onNode := make(map[string]int, len(pods))
	for _, pod := range pods {
		onNode[pod.Spec.NodeName]++
	}
	ranked := slices.Clone(pods)
	slices.SortFunc(ranked, func(a, b *corev1.Pod) int {
		return cmp.Or(
			-falseFirst(isMarked(a), isMarked(b)),
			falseFirst(a.Spec.NodeName != "", b.Spec.NodeName != ""),
			cmp.Compare(phaseRank(a), phaseRank(b)),
			falseFirst(isReady(a), isReady(b)),
			cmp.Compare(deletionCost(a), deletionCost(b)),
			-cmp.Compare(onNode[a.Spec.NodeName], onNode[b.Spec.NodeName]),
			-usefulSince(a).Compare(usefulSince(b)),
			-cmp.Compare(restarts(a), restarts(b)),
			-a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			// So that the order is the same every time, whatever order the pods came in.
			-cmp.Compare(a.Name, b.Name),
		)
	})
	return ranked
}

func falseFirst(a, b bool) int {
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

// deletionCost is what the user says of the pod. The API server refuses anything but a number there; 0 is the default.
func deletionCost(pod *corev1.Pod) int {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int(cost)
}
