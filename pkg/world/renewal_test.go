package world

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// checkRenewal sets a maximum age, and checks that all older pods are replaced within 50 minutes, and that the number of pods of the new revision
// stays the same. It does so only if all pods are as desired, and if they are so few that replacing one at a time takes less than 50 minutes.
func (w *World) checkRenewal(v *verdicts) error {
	const maxAge = 3600
	replicas := w.Manager.DesiredReplicas()
	if replicas == 0 || replicas > 50 || !w.isAsDesired() {
		return nil
	}
	before, isKnown, revisions := w.countNew(), w.keepsRevisions(), w.activeRevisions()
	w.edit(func(m *v1.PodManager) { m.Spec.Disruption = &v1.Disruption{MaxPodAgeSeconds: ptr.To[int32](maxAge)} })
	w.pass(maxAge * time.Second)
	began := w.Now
	for rounds := 20 + 20*replicas; rounds > 0; rounds-- {
		busy, err := sync(w, v)
		if err != nil {
			return err
		}
		moved := w.Settle()
		if w.areAllRenewed(began) {
			return w.checkRenewed(before, isKnown)
		}
		if !isKnown && isHalted(&w.Manager.Status) {
			return nil // the replacement of a pod of a lost or failed revision has the new one, which fails, and during a halt no pod begins to leave
		}
		if w.Now.Sub(began) > 50*time.Minute {
			break
		}
		if !w.Wait(busy || moved) {
			w.pass(time.Second)
		}
	}
	if w.hasBroken(revisions, isKnown) {
		return nil
	}
	return fmt.Errorf("after %v, not all pods are renewed: %s", w.Now.Sub(began), messageOf(&w.Manager.Status, v1.ConditionReady))
}

// checkRenewed checks that as many pods have the new revision as before the renewal, unless it was rolled back meanwhile.
func (w *World) checkRenewed(before int, isKnown bool) error {
	isRolledBack := reasonOf(&w.Manager.Status, v1.ConditionReady) == v1.ReasonRolledBack
	if after := w.countNew(); after != before && isKnown && !isRolledBack {
		return fmt.Errorf("renewal has changed revisions: %d pods of the new one before, %d after", before, after)
	}
	return nil
}

// keepsRevisions reports whether the replacement of each pod has the revision of that pod, because none is lost or failed.
func (w *World) keepsRevisions() bool {
	return !slices.ContainsFunc(w.activePods(), w.isRevisionLost) && !slices.ContainsFunc(w.oldPods(), w.hasRevisionFailed)
}

// activeRevisions returns the revision of each active pod.
func (w *World) activeRevisions() (revisions []string) {
	for _, p := range w.activePods() {
		revisions = append(revisions, w.hashOf(p))
	}
	return revisions
}

// hasBroken reports whether an image has broken since pods of one of these revisions ran, so that their replacements fail, and the status says that
// something is wrong. The replacement of a pod of a lost or failed revision may have any other revision, which may never have worked.
func (w *World) hasBroken(revisions []string, isKnown bool) bool {
	return !w.isAsDesired() && slices.ContainsFunc(w.activePods(), func(p *corev1.Pod) bool {
		return (!isKnown || slices.Contains(revisions, w.hashOf(p))) && !w.isAvailable(p) && !w.canRun(&corev1.PodTemplateSpec{Spec: p.Spec})
	})
}

// hasRevisionFailed reports whether the revision of a pod is marked as failed: then its replacement may have another revision.
func (w *World) hasRevisionFailed(p *corev1.Pod) bool {
	return slices.ContainsFunc(w.Revisions, func(r *appsv1.ControllerRevision) bool {
		return r.Labels[v1.LabelRevision] == w.hashOf(p) && r.Annotations[v1.AnnotationFailed] != ""
	})
}

// isAsDesired reports whether all pods are as the user wants them, so that old pods are replaced.
func (w *World) isAsDesired() bool {
	ready := reasonOf(&w.Manager.Status, v1.ConditionReady)
	return !w.Manager.Spec.Paused && (ready == v1.ReasonAllAvailable || ready == v1.ReasonPartition) && !w.isStuckSomewhere()
}

// areAllRenewed reports whether as many pods as desired were created since, or stay whatever their age.
func (w *World) areAllRenewed(began time.Time) bool {
	all := slices.Concat(w.activePods(), w.leavingPods())
	return len(all) == w.Manager.DesiredReplicas() && !slices.ContainsFunc(all, func(p *corev1.Pod) bool {
		return p.CreationTimestamp.Time.Before(began.Truncate(time.Second)) && !w.mayStay(p)
	})
}

// mayStay reports whether a pod of an old revision may stay whatever its age, because it would be deleted before its replacement is created, and the
// replacement could have another revision: pods of a further old revision run, or it is the last pod of a revision that is not the current one.
func (w *World) mayStay(p *corev1.Pod) bool {
	waits := w.Manager.Spec.PodReplacementPolicy == v1.TerminationComplete && w.Manager.MaxUnavailable() > 0
	if w.Manager.MaxSurge() > 0 && !waits || w.hashOf(p) == w.updateHash {
		return false
	}
	isSame, isMixed := false, false
	for _, other := range w.activePods() {
		isSame = isSame || other != p && w.hashOf(other) == w.hashOf(p)
		isMixed = isMixed || w.hashOf(other) != w.updateHash && w.hashOf(other) != w.hashOf(p)
	}
	return isMixed || !isSame && w.hashOf(p) != w.currentHash()
}
