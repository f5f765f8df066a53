package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// checkCurrent checks that the new revision becomes the current one when it has been good for the bake time. A superseded revision becomes current
// only if there is none, enough of its pods are available, and fewer than failureThreshold have just crashed.
func (s *synced) checkCurrent() error {
	status := &s.status
	switch {
	case status.CurrentRevision == s.before.CurrentRevision:
		return nil
	case status.CurrentRevision != status.UpdateRevision:
		hash := strings.TrimPrefix(status.CurrentRevision, s.Manager.Name+"-")
		if s.hadCurrent || s.countAvailable(hash) < s.enough() {
			return fmt.Errorf("%s became the current revision, with %d available pods of %d", status.CurrentRevision, s.countAvailable(hash), s.enough())
		}
		if crashed := s.countCrashed(hash); crashed >= s.Manager.FailureThreshold() {
			return fmt.Errorf("%s became the current revision, although %d of its pods have just crashed", status.CurrentRevision, crashed)
		}
		return nil
	case s.baking.revision != s.updateHash:
		return fmt.Errorf("%s is current, and not good", status.CurrentRevision)
	case s.Now.Sub(s.baking.since) < s.Manager.BakeTime()-2*time.Second: // the times of recovery and baking are whole seconds
		return fmt.Errorf("%s is current, and was good for %v of %v", status.CurrentRevision, s.Now.Sub(s.baking.since), s.Manager.BakeTime())
	}
	return nil
}

// countCrashed counts the pods of a revision that have first crashed so recently that they cannot have recovered, and whose status shows the crash
// without doubt.
func (s *synced) countCrashed(hash string) (count int) {
	recovery := s.Manager.MinReady() + s.Manager.FailureGrace()
	for _, p := range s.activePods() {
		hidden := s.hidden[p.UID]
		isRecent := s.Now.Sub(hidden.blame.failedAt) < recovery-2*time.Second
		if s.hashOf(p) == hash && s.isBlamed(p) && isRecent && !hidden.blame.inherited && hidden.updates == 0 && !hidden.byHand && !hidden.interrupted && showsCrash(p) {
			count++
		}
	}
	return count
}

// showsCrash reports whether the status of a pod shows that a container has crashed.
func showsCrash(p *corev1.Pod) bool {
	return nodes.Condition(p, corev1.DisruptionTarget) == nil && slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.RestartCount > 0 && c.LastTerminationState.Terminated != nil && c.LastTerminationState.Terminated.Reason == "Error"
	})
}

// checkMade checks the revision of pods that are created, or updated in place, if it is not the new one. In a rollback, it must be the current
// revision. Otherwise it must be the newest revision that runs on the old side, or the current one if none does. The replacement of a leaving pod may
// have the revision of that pod.
func (s *synced) checkMade() error {
	want := cmp.Or(s.newestOld(), s.currentHash())
	if s.isRolledBack() {
		want = s.currentHash()
	}
	for _, c := range s.plan.Create {
		isSame := !s.isRolledBack() && slices.ContainsFunc(s.plan.Leaving, func(l leaving.Pod) bool {
			return c.Revision.Hash == s.hashOf(l.Pod) && slices.Contains(c.Replaces, l.UID)
		})
		if c.Revision.Hash != s.updateHash && c.Revision.Hash != want && !isSame {
			return fmt.Errorf("a pod of %s is made, want %s", c.Revision.Hash, want)
		}
	}
	for _, c := range s.plan.Update {
		if c.To != nil && c.To.Hash != s.updateHash && c.To.Hash != want && c.To.Hash != s.hashOf(c.Pod) {
			return fmt.Errorf("%s is updated to %s, want %s", c.Pod.Name, c.To.Hash, want)
		}
	}
	return nil
}

// isRolledBack reports whether the new revision has failed, according to the status or its mark, and there is a good one to return to. If there is a
// newer revision, the template has changed since, and the failure no longer counts. The mark alone begins no rollback during a pause or with OnDelete,
// which leave all pods as they are.
func (s *synced) isRolledBack() bool {
	isMarked := func(r *appsv1.ControllerRevision) bool {
		isNewest := !slices.ContainsFunc(s.Revisions, func(other *appsv1.ControllerRevision) bool { return other.Revision > r.Revision })
		return isNewest && r.Labels[v1.LabelRevision] == s.updateHash && r.Annotations[v1.AnnotationFailed] != ""
	}
	mayBegin := s.Manager.OnFailure() == v1.RollbackOnFailure && !s.Manager.Spec.Paused && s.Manager.Strategy() != v1.OnDeleteStrategy
	return s.Manager.OnFailure() != v1.ContinueOnFailure && s.before.FailedRevision == s.plan.Revisions.Update.Name ||
		mayBegin && s.currentHash() != "" && slices.ContainsFunc(s.Revisions, isMarked)
}

// checkLeftAlone checks that a partition leaves the specified number of pods of other revisions alone, and that a halt, a pause and OnDelete leave
// all of them alone.
func (s *synced) checkLeftAlone() error {
	old, taken := s.oldPods(), 0
	may := max(0, len(old)-s.Manager.Partition())
	if s.mustHalt() {
		may = 0
	}
	if s.currentHash() == s.updateHash {
		may = len(old) // back to the good revision
	}
	if s.Manager.Spec.Paused || s.Manager.Strategy() == v1.OnDeleteStrategy {
		may = 0
	}
	if s.isRolledBack() {
		return nil
	}
	for _, d := range s.plan.Delete {
		if d.Why.IsRollout() && slices.Contains(old, d.Pod) {
			taken++
		}
	}
	for _, c := range s.plan.Update {
		if c.To != nil && c.To.Hash != s.hashOf(c.Pod) && slices.Contains(old, c.Pod) {
			taken++
		}
	}
	if taken > may {
		return fmt.Errorf("%d pods of other revisions are moved, at most %d may be", taken, may)
	}
	return nil
}

// mustHalt reports whether failureThreshold pods of the new revision have failed, as the status says, and are still down. The failure of a pod that
// left a lost node has passed to its replacement: if the node returns, the two count once.
func (s *synced) mustHalt() bool {
	down := 0
	for _, p := range s.activePods() {
		if blame := s.hidden[p.UID].blame; s.hashOf(p) == s.updateHash && s.isBlamed(p) && blame.told && !blame.inherited && !nodes.IsReady(p) &&
			s.replacementOf(p.UID, s.updateHash) == nil {
			down++
		}
	}
	return down >= s.Manager.FailureThreshold() && s.Manager.OnFailure() != v1.ContinueOnFailure && s.Manager.Strategy() == v1.RollingUpdateStrategy
}
