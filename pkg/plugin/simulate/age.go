package simulate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world"
)

// keepAge keeps pods from being replaced because of their age, which would never end, and is not part of a rollout or a drain. A pod that already
// leaves because of its age goes on leaving.
func keepAge(m *v1.PodManager) {
	leaves := func(pod v1.LeavingPod) bool { return pod.Cause == v1.LeavingForAge }
	if m.Spec.Disruption != nil && !slices.ContainsFunc(m.Status.LeavingPods, leaves) {
		m.Spec.Disruption.MaxPodAgeSeconds = nil
	}
}

// tooOld returns a note about the pods that are old enough at the end to be replaced for their age. That may happen at 90 % of the maximum age.
func tooOld(m *v1.PodManager, w *world.World) []string {
	if m.Spec.Disruption == nil || m.Spec.Disruption.MaxPodAgeSeconds == nil {
		return nil
	}
	earliest := time.Duration(*m.Spec.Disruption.MaxPodAgeSeconds) * time.Second * 9 / 10
	isYoung := func(pod *corev1.Pod) bool { return !isActive(pod) || w.Now.Sub(pod.CreationTimestamp.Time) < earliest }
	old := slices.DeleteFunc(slices.Clone(w.Pods), isYoung)
	if len(old) == 0 {
		return nil
	}
	return []string{names(old) + " old enough at the end to be replaced because of maxPodAgeSeconds; the simulation leaves such replacements out"}
}
