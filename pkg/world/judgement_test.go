package world

import (
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// countServing returns how many active pods serve.
func (s *synced) countServing() (count int) {
	for _, p := range s.activePods() {
		if s.isServing(p) {
			count++
		}
	}
	return count
}

// isServing reports whether a pod serves: it is available, or ready after an interrupted update with old kubelets. Such a pod serves until its
// kubelet restarts it, which may happen at any time.
func (s *synced) isServing(p *corev1.Pod) bool {
	return s.isAvailable(p) || s.OldKubelets && s.hidden[p.UID].interrupted && nodes.IsReady(p) && !s.IsStartupUnknown(p)
}

// checkCounts checks that no pod counts as available that does not serve. A pod of a lost node does not serve.
func (s *synced) checkCounts() error {
	if serving := s.countServing(); int(s.status.AvailableReplicas) > serving {
		return fmt.Errorf("the status reports %d available pods, and %d serve", s.status.AvailableReplicas, serving)
	}
	return nil
}

// isHalted reports whether a status says that failing pods have halted the rollout.
func isHalted(status *v1.PodManagerStatus) bool {
	return reasonOf(status, v1.ConditionReady) == v1.ReasonHalted || reasonOf(status, v1.ConditionStalled) == v1.ReasonHalted
}

// checkBlame checks that no pod counts against its revision for a disruption, for a failure before its kubelet had seen the revision, or for a
// failure from which it has recovered.
func (s *synced) checkBlame() error {
	if blamed, _ := s.countBlamed(); isHalted(&s.status) && blamed+s.countTwice() < s.Manager.FailureThreshold() {
		return fmt.Errorf("halted because of %d pods, of which %d are blamed: %s", s.Manager.FailureThreshold(), blamed, messageOf(&s.status, v1.ConditionReady))
	}
	return nil
}

// checkFailed checks that a revision fails only if the grace period of at least failureThreshold blamed pods is over, or if the progress deadline
// is exceeded while a pod of the revision is unavailable. The status has room for the times of 100 pods.
func (s *synced) checkFailed() error {
	if s.status.FailedRevision == "" || s.status.FailedRevision == s.before.FailedRevision {
		return nil
	}
	blamed, graceOver := s.countBlamed()
	_, _, isMissing := s.countUpdated()
	isLate := isMissing && s.progressClock.elapsed >= s.Manager.ProgressDeadline()-6*time.Second // the controller notices events only when it syncs
	switch {
	case s.status.FailedRevision != s.status.UpdateRevision:
		return fmt.Errorf("%s is not the new revision", s.status.FailedRevision)
	case s.Manager.OnFailure() != v1.RollbackOnFailure || s.Manager.Spec.Paused || s.Manager.Strategy() == v1.OnDeleteStrategy:
		return errors.New("the spec does not ask for a rollback")
	case s.wasMarked():
		return nil // its time was over under another policy
	case graceOver+s.countTwice() < min(s.Manager.FailureThreshold(), 100) && !isLate:
		return fmt.Errorf("%s has failed with %d blamed pods, %d of them for longer than the grace period, of %d, after %v of %v; %s", s.status.FailedRevision, blamed,
			graceOver, s.Manager.FailureThreshold(), s.progressClock.elapsed, s.Manager.ProgressDeadline(), messageOf(&s.status, v1.ConditionStalled))
	}
	return nil
}

// wasMarked reports whether the new revision was marked as failed before the sync, because its pods had not recovered in time.
func (s *synced) wasMarked() bool {
	return slices.ContainsFunc(s.observed.Revisions, func(r *appsv1.ControllerRevision) bool {
		return r.Labels[v1.LabelRevision] == s.updateHash && r.Annotations[v1.AnnotationFailed] != ""
	})
}

// checkGrace checks that a halt is Stalled only once the grace period of at least failureThreshold pods is over.
func (s *synced) checkGrace() error {
	if reasonOf(&s.status, v1.ConditionStalled) != v1.ReasonHalted || reasonOf(&s.before, v1.ConditionStalled) == v1.ReasonHalted {
		return nil
	}
	if _, graceOver := s.countBlamed(); graceOver+s.countTwice() < s.Manager.FailureThreshold() {
		return fmt.Errorf("stalled with %d pods that have had their time to recover, of %d", graceOver, s.Manager.FailureThreshold())
	}
	return nil
}

// checkReady checks that Ready is true only while the desired number of pods serves, and there are no other active pods. A rollout in which too many
// pods have failed is not Ready, even if all pods serve for a moment and the PodManager is paused.
func (s *synced) checkReady() error {
	if !meta.IsStatusConditionTrue(s.status.Conditions, v1.ConditionReady) {
		return nil
	}
	serving, active := s.countServing(), len(s.activePods())
	if wanted := s.Manager.DesiredReplicas(); serving < wanted || active != wanted {
		return fmt.Errorf("%d of %d pods serve, %d are wanted: %s", serving, active, wanted, messageOf(&s.status, v1.ConditionReady))
	}
	isStored := slices.ContainsFunc(s.observed.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == s.before.CurrentRevision })
	if s.Manager.OnFailure() == v1.ContinueOnFailure || s.Manager.Strategy() == v1.OnDeleteStrategy || s.status.Rollout == nil ||
		s.Manager.DesiredReplicas() <= s.Manager.Partition() || !isStored { // without another revision, or a pod to update, there is no halt
		return nil
	}
	failing := 0
	for _, pod := range s.status.Rollout.Failing {
		if !pod.Recovered {
			failing++
		}
	}
	if failing >= s.Manager.FailureThreshold() {
		return fmt.Errorf("%d pods of the new revision have failed: %s", failing, messageOf(&s.status, v1.ConditionReady))
	}
	return nil
}

// checkReadyStalled checks that Ready and Stalled are never both true.
func (s *synced) checkReadyStalled() error {
	if meta.IsStatusConditionTrue(s.status.Conditions, v1.ConditionReady) && meta.IsStatusConditionTrue(s.status.Conditions, v1.ConditionStalled) {
		return fmt.Errorf("ready: %s, and stalled: %s", messageOf(&s.status, v1.ConditionReady), messageOf(&s.status, v1.ConditionStalled))
	}
	return nil
}

// checkStalledBusy checks that a rollout is not Stalled while pods are created, deleted or updated, unless a request fails. Deleting finished pods
// does not count.
func (s *synced) checkStalledBusy() error {
	stalled := reasonOf(&s.status, v1.ConditionStalled)
	if stalled == "" || s.failure != nil {
		return nil
	}
	moves := len(s.plan.Create) + len(s.plan.Update)
	for _, d := range s.plan.Delete {
		if d.Why != rollout.WhyFinished {
			moves++
		}
	}
	if moves > 0 {
		return fmt.Errorf("%s while %d pods are created, deleted or changed", stalled, moves)
	}
	return nil
}

// checkProgressing checks that Progressing is not true while Stalled or Ready is true.
func (s *synced) checkProgressing() error {
	if !meta.IsStatusConditionTrue(s.status.Conditions, v1.ConditionProgressing) {
		return nil
	}
	for _, kind := range []string{v1.ConditionStalled, v1.ConditionReady} {
		if meta.IsStatusConditionTrue(s.status.Conditions, kind) {
			return fmt.Errorf("progressing: %s, and %s: %s", reasonOf(&s.status, v1.ConditionProgressing), kind, reasonOf(&s.status, kind))
		}
	}
	return nil
}
