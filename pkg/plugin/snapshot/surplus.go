package snapshot

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// SurplusInPause returns the pods that the controller deletes at once after a change of the template during a pause, because there are more pods than
// desired: the surge pods of a rollout stay during a pause, but not those of a rollout that the change has ended. changed is the PodManager with the
// change. If there is no pause, or the user may not read pods, SurplusInPause returns none.
func (s Snapshot) SurplusInPause(changed *v1.PodManager) (surplus []*corev1.Pod) {
	if s.Manager = changed; !changed.Spec.Paused || !s.Reads("pods") {
		return nil
	}
	active, finished, _ := podstate.Split(s.Pods)
	stay, revisions := s.WithoutLeaving(active), s.Revisions()
	for { // spec.scaleDown may limit how many are deleted at a time
		r := rollout.Assess(changed, revisions, inplace.Capabilities{CanResizeAndDrain: true}, stay, finished, s.Now)
		deletions := rollout.Decide(r, nil, false, false).Delete
		if len(deletions) == 0 {
			return surplus
		}
		for _, deletion := range deletions {
			stay = slices.DeleteFunc(stay, func(pod *corev1.Pod) bool { return pod == deletion.Pod })
			if deletion.Why == rollout.WhySurplus {
				surplus = append(surplus, deletion.Pod)
			}
		}
	}
}
