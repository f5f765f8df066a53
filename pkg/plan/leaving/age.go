package leaving

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Renew decides which of the pods that are too old is replaced: one at a time, and only if all other pods are available. With a surge, the oldest pod
// leaves, and is deleted once its replacement is available. Without a surge, it is deleted before its replacement is created, unless the replacement
// would have another revision. Renew returns the pod to delete, or nil.
//
// Renew applies while no rollout is under way. It moves the pod that begins to leave from Stay to Leave.
func (f *Found) Renew(manager *v1.PodManager, terminating int, wouldChange func(*corev1.Pod) bool, now time.Time) (tooOld *Pod) {
	candidates := f.Stay
	if !surgesFirst(manager) {
		candidates = slices.DeleteFunc(slices.Clone(f.Stay), wouldChange)
	}
	oldest, wait := oldest(manager, candidates, now)
	f.Again = requeue.Sooner(f.Again, wait)
	// Surplus pods, pods that are marked for deletion, and those of drained nodes go first.
	desired := manager.DesiredReplicas()
	if len(f.Stay) != desired || len(f.Waiting) > 0 || slices.ContainsFunc(f.Stay, podstate.IsMarked) {
		return nil
	}
	if i := slices.IndexFunc(f.Leave, func(pod Pod) bool { return pod.Cause == TooOld }); i >= 0 {
		if f.available(manager, now) < desired {
			return nil
		}
		return &f.Leave[i]
	}
	if oldest == nil {
		return nil
	}
	others := f.without(oldest.Pod)
	switch {
	case others.available(manager, now) < desired-1, slices.ContainsFunc(others.Stay, inplace.MayRestart):
		return nil // a pod that the kubelet may restart at any time cannot stand in for another
	case surgesFirst(manager):
		f.Stay, f.Leave = others.Stay, append(f.Leave, *oldest)
		return nil
	case terminating > 0 || manager.MaxUnavailable() == 0:
		return nil
	default:
		return oldest // the next plan replaces it
	}
}

// goOnRenewing lets a pod that has begun to leave for its age continue to leave, whatever has happened since. If it stayed, it would be one pod too
// many: its replacement would be deleted as surplus, and Renew would begin again.
func (f *Found) goOnRenewing(manager *v1.PodManager, before leavingBefore, now time.Time) {
	var begun []*corev1.Pod
	for _, pod := range f.Stay {
		if before.hasPod(pod, v1.LeavingForAge) && !podstate.IsMarked(pod) {
			begun = append(begun, pod)
		}
	}
	if begun, _ := oldest(manager, begun, now); begun != nil && surgesFirst(manager) {
		f.Stay, f.Leave = f.without(begun.Pod).Stay, append(f.Leave, *begun)
	}
}

// without returns a copy in which the pod does not stay.
func (f *Found) without(pod *corev1.Pod) Found {
	others := *f
	others.Stay = slices.DeleteFunc(slices.Clone(f.Stay), func(other *corev1.Pod) bool { return other == pod })
	return others
}

// surgesFirst reports whether the replacement of a pod that is too old is created before the pod is deleted. With podReplacementPolicy
// TerminationComplete, the pod is deleted first. But if no pod may be unavailable, its replacement comes first even then, as in a rollout.
func surgesFirst(manager *v1.PodManager) bool {
	return manager.MaxSurge() > 0 && (manager.Spec.PodReplacementPolicy != v1.TerminationComplete || manager.MaxUnavailable() == 0)
}

// jitter is the part of the maximum age by which a pod may be replaced early.
const jitter = 10 // percent

// oldest returns the oldest pod that has reached its maximum age, or nil if there is none. wait is the time until the next pod reaches it.
func oldest(manager *v1.PodManager, pods []*corev1.Pod, now time.Time) (found *Pod, wait time.Duration) {
	if manager.Spec.Disruption == nil || manager.Spec.Disruption.MaxPodAgeSeconds == nil {
		return nil, 0
	}
	most := time.Duration(*manager.Spec.Disruption.MaxPodAgeSeconds) * time.Second
	for _, pod := range pods {
		if until := pod.CreationTimestamp.Add(maxAge(pod, most)).Sub(now); until > 0 {
			wait = requeue.Sooner(wait, until)
			continue
		}
		isOlder := found == nil || pod.CreationTimestamp.Before(&found.CreationTimestamp) ||
			pod.CreationTimestamp.Equal(&found.CreationTimestamp) && podstate.ByIndex(pod.Name, found.Name) < 0
		if isOlder {
			found = &Pod{pod, TooOld, fmt.Sprintf("due for replacement by maxPodAgeSeconds of %v", most)}
		}
	}
	return found, wait
}

// maxAge returns the age at which a pod is replaced. It depends on the pod's UID, so that pods that were created together are not replaced together.
func maxAge(pod *corev1.Pod, most time.Duration) time.Duration {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(pod.UID)) // hash.Hash never returns an error
	return most - most*jitter/100*time.Duration(hash.Sum32()%1000)/1000
}
