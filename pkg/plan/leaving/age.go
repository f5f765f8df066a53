package leaving

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Renew decides which of the pods that are too old is replaced: one at a time, and only if all other pods are available. With a surge, the oldest pod
// leaves, and is deleted once its replacement is available. Without a surge, it is deleted before its replacement is created. Renew returns the pod
// to delete, or nil.
//
// Renew applies while no rollout is under way. It moves the pod that leaves from Stay to Leave.
func (f *Found) Renew(manager *v1.PodManager, terminating int, now time.Time) (tooOld *Pod) {
	oldest, wait := oldest(manager, f.Stay, now)
	f.Again = requeue.Sooner(f.Again, wait)
	desired := manager.DesiredReplicas()
	if oldest == nil || desired == 0 || slices.ContainsFunc(f.Stay, podstate.IsMarked) { // pods that are marked for deletion go first
		return nil
	}
	// If there are more pods than desired, they are either the replacement of a pod that already leaves, or surplus, which is deleted first.
	isLeaving := wasLeaving(manager, oldest.Pod, v1.LeavingForAge)
	if len(f.Stay) > desired && !isLeaving {
		return nil
	}
	others := *f
	others.Stay = slices.DeleteFunc(slices.Clone(f.Stay), func(pod *corev1.Pod) bool { return pod == oldest.Pod })
	available := others.available(manager, now)
	switch {
	case !surgesFirst(manager):
		isWhole := len(f.Stay) == desired && available == desired-1 && terminating == 0
		if !isWhole || manager.MaxUnavailable() == 0 {
			return nil
		}
		return oldest // the next plan replaces it
	case available >= desired && len(f.Stay) == desired+1:
		f.Stay = others.Stay
		return oldest
	case available == desired-1 || isLeaving: // the replacement is missing, or starting
		f.Stay, f.Leave = others.Stay, append(f.Leave, *oldest)
	}
	return nil
}

// surgesFirst reports whether the replacement of a pod that is too old is created before the pod is deleted. With TerminationComplete, it is not,
// unless no pod may be unavailable: then a rollout creates replacements first, too.
func surgesFirst(manager *v1.PodManager) bool {
	return manager.MaxSurge() > 0 && (manager.Spec.PodReplacementPolicy != v1.TerminationComplete || manager.MaxUnavailable() == 0)
}

// jitter is the part of its maximum age by which a pod may be replaced early.
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
			found = &Pod{pod, TooOld, fmt.Sprintf("older than maxPodAgeSeconds of %v", most)}
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
