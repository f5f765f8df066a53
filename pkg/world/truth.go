package world

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func isFinished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

func isReady(p *corev1.Pod) bool {
	ready := conditionOf(p, corev1.PodReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

func isMarkedForDeletion(p *corev1.Pod) bool { return p.Annotations[v1.AnnotationDelete] == "true" }

// isDrained tells whether our readiness gate is closed.
func isDrained(p *corev1.Pod) bool {
	gate := conditionOf(p, v1.InPlaceReady)
	return gate != nil && gate.Status != corev1.ConditionTrue &&
		slices.Contains(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: v1.InPlaceReady})
}

// isOurs tells whether the pod is in the PodManager's care.
func (w *World) isOurs(p *corev1.Pod) bool {
	return p.Labels[v1.LabelManager] == w.Manager.Name && metav1.IsControlledBy(p, w.Manager)
}

// standing are the pods that count: ours, or to be adopted, and neither ending nor ended.
func (w *World) activePods() []*corev1.Pod {
	var found []*corev1.Pod
	for _, p := range w.Pods {
		isOrphan := metav1.GetControllerOf(p) == nil
		if p.DeletionTimestamp == nil && !isFinished(p) && p.Labels[v1.LabelManager] == w.Manager.Name && (isOrphan || w.isOurs(p)) {
			found = append(found, p)
		}
	}
	return found
}

// hashOf is the revision of a pod. One that was made by hand has none, and counts for the last good one until the template
// changes.
func (w *World) hashOf(p *corev1.Pod) string {
	if hash := p.Labels[v1.LabelRevision]; hash != "" {
		return hash
	}
	if current := w.currentHash(); current != "" {
		return current
	}
	return w.updateHash
}

// currentHash is that of the last good revision; empty if there was none, or it is lost.
func (w *World) currentHash() string {
	for _, r := range w.Revisions {
		if r.Name == w.Manager.Status.CurrentRevision {
			return r.Labels[v1.LabelRevision]
		}
	}
	for _, r := range w.remembered { // it is stored again
		if r.Name == w.Manager.Status.CurrentRevision {
			return r.Hash
		}
	}
	return ""
}

// isStored tells whether the template of a revision can still be told.
func (w *World) isStored(hash string) bool {
	for _, r := range w.Revisions {
		if r.Labels[v1.LabelRevision] == hash {
			return true
		}
	}
	for _, r := range w.remembered {
		if r.Hash == hash {
			return true
		}
	}
	return hash == w.updateHash
}

// isServing tells whether a pod is available: that it has been ready for long enough, since it was last changed. For how long, is
// what the pod's node says: nobody can tell that its clock is wrong.
func (w *World) isAvailable(p *corev1.Pod) bool {
	hidden := w.hidden[p.UID]
	if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning || !isReady(p) || isDrained(p) || w.isRestartPending(p) {
		return false
	}
	since := conditionOf(p, corev1.PodReady).LastTransitionTime.Time
	if hidden.updatedAt.After(since) && !w.isResizeDelayed(p) {
		since = hidden.updatedAt
	}
	return w.Manager.MinReady() == 0 || !w.Now.Before(since.Add(w.Manager.MinReady()))
}

// isToBeRestarted tells whether what a pod says of itself is no longer true, because its node has yet to follow a change.
//
// A node that does not tell which generation it has seen is only known by the restarts that a change takes. So nobody can tell of a
// change that takes none; nor of a pod that was made by hand, of which it is not known what it had; nor of a second change, or one
// after another that was given up: a restart that was seen may have been for that one, or a crash.
func (w *World) isRestartPending(p *corev1.Pod) bool {
	hidden := w.hidden[p.UID]
	if !w.oldKubelets {
		return w.kubeletIsBehind(p) && !w.isResizeDelayed(p)
	}
	if hidden.byHand || hidden.interrupted || hidden.updates > 1 {
		return false
	}
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return hidden.needsRestart(&c) })
}

// isInfeasible tells whether the pod's node has refused the CPU or memory that the pod was given in place.
func (w *World) isInfeasible(p *corev1.Pod) bool {
	pending := conditionOf(p, corev1.PodResizePending)
	return pending != nil && pending.Reason == corev1.PodReasonInfeasible && w.hidden[p.UID].applied == p.Generation
}

// isGood tells whether a pod of this template can run.
func (w *World) canRun(template *corev1.PodTemplateSpec) bool {
	for _, list := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range list {
			if w.quality(list[i].Image) != good {
				return false
			}
		}
	}
	return true
}

// canChange tells whether a pod of one template can be made one of the other in place: only images, CPU and memory of its
// containers differ, and no restart was asked for.
func canUpdateInPlace(from, to *corev1.PodTemplateSpec) bool {
	if from == nil || to == nil || from.Annotations[v1.AnnotationRestartedAt] != to.Annotations[v1.AnnotationRestartedAt] ||
		len(from.Spec.Containers) != len(to.Spec.Containers) {
		return false
	}
	a, b := from.DeepCopy(), to.DeepCopy()
	for i := range a.Spec.Containers {
		b.Spec.Containers[i].Image = a.Spec.Containers[i].Image
		b.Spec.Containers[i].Resources = a.Spec.Containers[i].Resources // all of them request CPU and memory, and limit nothing
	}
	return equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// stopwatch is how long a rollout has been without progress.
type progressStopwatch struct {
	revision      string
	mostAvailable int
	elapsed       time.Duration
}

// updated tells how many pods of the present revision are available with all that it says, and whether there is one that is not.
func (w *World) countUpdated() (available int, isMissing bool) {
	for _, p := range w.Pods {
		switch {
		case p.DeletionTimestamp != nil || w.hashOf(p) != w.updateHash || p.Labels[v1.LabelManager] != w.Manager.Name:
		case w.isAvailable(p) && !w.kubeletIsBehind(p):
			available++
		default:
			isMissing = true
		}
	}
	return available, isMissing
}

// due is how many updated pods there are to be: all, if there is no other revision that some could be left with.
func (w *World) desiredUpdated() int {
	isOther := func(p *corev1.Pod) bool { return w.hashOf(p) != w.updateHash && w.isStored(w.hashOf(p)) }
	if current := w.currentHash(); current == w.updateHash || current == "" && !slices.ContainsFunc(w.activePods(), isOther) {
		return w.Manager.DesiredReplicas()
	}
	return w.Manager.DesiredReplicas() - w.Manager.Partition()
}

// pause is how many pods were wanted when the rollout of a revision last went on, or the most since.
type pauseState struct {
	revision string
	wanted   int
}

func (p *pauseState) note(w *World) {
	desired := w.Manager.DesiredReplicas()
	if !w.Manager.Spec.Paused || p.revision != w.updateHash || desired > p.wanted {
		*p = pauseState{w.updateHash, desired}
	}
}
