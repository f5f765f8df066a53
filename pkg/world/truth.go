package world

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// hiddenState is the state of a pod that the API server does not show.
type hiddenState struct {
	*nodes.State
	// updates is how often an update in place of the pod was completed or interrupted.
	updates int
	// interrupted tells that an update in place was begun and not completed; refused is the hash of the revision to which the API server
	// has refused an update.
	interrupted bool
	refused     string
	// updatedAt is when the pod was last updated in place, revisionGeneration the generation with which it got its revision.
	updatedAt          time.Time
	revisionGeneration int64
	// stuck tells that the pod stays terminating.
	stuck bool
	// goneAt is when the terminating pod is gone, and quality how its containers behave, in a world without chance.
	goneAt  time.Time
	quality nodes.Quality
	// byHand tells that a user has created the pod: its spec may differ from all templates.
	byHand bool
	blame  blame
	// failedEarly tells that the pod has failed after an update in place, and before its kubelet had seen the update.
	failedEarly bool
	// recoveredAt is when the pod last recovered from a failure; zero if it never did.
	recoveredAt time.Time
	// replacement is the pod that was created to replace this one.
	replacement *corev1.Pod
}

func isMarkedForDeletion(p *corev1.Pod) bool { return p.Annotations[v1.AnnotationDelete] == "true" }

// isDrained tells whether our readiness gate is closed.
func isDrained(p *corev1.Pod) bool {
	gate := nodes.Condition(p, v1.InPlaceReady)
	return gate != nil && gate.Status != corev1.ConditionTrue &&
		slices.Contains(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: v1.InPlaceReady})
}

// isOurs tells whether the PodManager controls the pod, and the pod has the label.
func (w *World) isOurs(p *corev1.Pod) bool {
	return p.Labels[v1.LabelManager] == w.Manager.Name && metav1.IsControlledBy(p, w.Manager)
}

// activePods are the pods of the PodManager, including orphans to adopt, that are neither terminating nor finished.
func (w *World) activePods() []*corev1.Pod {
	var found []*corev1.Pod
	for _, p := range w.Pods {
		isOrphan := metav1.GetControllerOf(p) == nil
		if p.DeletionTimestamp == nil && !nodes.IsFinished(p) && p.Labels[v1.LabelManager] == w.Manager.Name && (isOrphan || w.isOurs(p)) {
			found = append(found, p)
		}
	}
	return found
}

// hashOf is the revision hash of a pod. A pod without one, created by hand, counts as a pod of the current revision, or else of the new
// revision.
func (w *World) hashOf(p *corev1.Pod) string {
	if hash := p.Labels[v1.LabelRevision]; hash != "" {
		return hash
	}
	if current := w.currentHash(); current != "" {
		return current
	}
	return w.updateHash
}

// currentHash is the hash of the current revision; empty if there is none, or it is lost.
func (w *World) currentHash() string {
	for _, r := range w.Revisions {
		if r.Name == w.Manager.Status.CurrentRevision {
			return r.Labels[v1.LabelRevision]
		}
	}
	for _, r := range w.remembered { // the controller stores it again
		if r.Name == w.Manager.Status.CurrentRevision {
			return r.Hash
		}
	}
	return ""
}

// isStored tells whether the template of a revision is stored, remembered, or in the spec.
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

// isAvailable tells whether a pod has been ready for minReadySeconds, and since its last update in place. The kubelet's clock counts:
// nobody can tell that it is wrong.
func (w *World) isAvailable(p *corev1.Pod) bool {
	hidden := w.hidden[p.UID]
	if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning || !nodes.IsReady(p) || isDrained(p) || w.isRestartPending(p) {
		return false
	}
	since := nodes.Condition(p, corev1.PodReady).LastTransitionTime.Time
	if hidden.updatedAt.After(since) && !w.IsResizeDelayed(p) {
		since = hidden.updatedAt
	}
	return w.Manager.MinReady() == 0 || !w.Now.Before(since.Add(w.Manager.MinReady()))
}

// isBehind tells whether the kubelet has not carried out all of the pod's spec. Nobody can tell for a kubelet that says nothing of a resize
// for long; but a container that has yet to get its image shows.
func (w *World) isBehind(p *corev1.Pod) bool {
	hasOtherImage := func(c corev1.Container) bool { return w.hidden[p.UID].HasOtherImage(&c) }
	return w.IsBehind(p) && (!w.isSilentForLong(p) || slices.ContainsFunc(p.Spec.Containers, hasOtherImage))
}

// isSilentForLong tells whether the kubelet has seen the pod's spec, and has said nothing of a resize for so long that nobody waits for it any
// more.
func (w *World) isSilentForLong(p *corev1.Pod) bool {
	const maxSilence = 30 * time.Second
	hidden := w.hidden[p.UID]
	return hidden.IsSilent && hidden.Observed == p.Generation && !w.Now.Before(hidden.updatedAt.Add(maxSilence))
}

// isRestartPending tells whether the status of a pod is outdated, because its kubelet has yet to apply an update.
//
// With old kubelets, only restarts of containers show that an update was applied. So nobody can tell for an update without a restart; nor
// for a pod created by hand, whose earlier spec is unknown; nor for a second update or one after an interrupted update: a restart may have
// been for the earlier update, or a crash.
func (w *World) isRestartPending(p *corev1.Pod) bool {
	hidden := w.hidden[p.UID]
	if !w.OldKubelets {
		return w.isBehind(p) && !w.IsResizeDelayed(p)
	}
	if hidden.byHand || hidden.interrupted || hidden.updates > 1 {
		return false
	}
	return w.willRestart(p)
}

// willRestart tells whether the kubelet has yet to restart a container for an update, whether anybody can tell or not.
func (w *World) willRestart(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return w.hidden[p.UID].NeedsRestart(&c) })
}

// isInfeasible tells whether the kubelet has refused to resize the pod.
func (w *World) isInfeasible(p *corev1.Pod) bool {
	pending := nodes.Condition(p, corev1.PodResizePending)
	return pending != nil && pending.Reason == corev1.PodReasonInfeasible && w.hidden[p.UID].Applied == p.Generation
}

// canRun tells whether a pod of this template can run.
func (w *World) canRun(template *corev1.PodTemplateSpec) bool {
	for _, list := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range list {
			if !w.IsGood(list[i].Image) {
				return false
			}
		}
	}
	return true
}

// canUpdateInPlace tells whether a pod of one template can be updated to the other in place: only images, CPU and memory of its containers
// differ, and no restart was requested.
func canUpdateInPlace(from, to *corev1.PodTemplateSpec) bool {
	if from == nil || to == nil || from.Annotations[v1.AnnotationRestartedAt] != to.Annotations[v1.AnnotationRestartedAt] ||
		len(from.Spec.Containers) != len(to.Spec.Containers) {
		return false
	}
	a, b := from.DeepCopy(), to.DeepCopy()
	for i := range a.Spec.Containers {
		b.Spec.Containers[i].Image = a.Spec.Containers[i].Image
		b.Spec.Containers[i].Resources = a.Spec.Containers[i].Resources // all containers have requests for CPU and memory, and no limits
	}
	return equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// progressStopwatch measures how long the rollout of a revision has been without progress.
type progressStopwatch struct {
	revision      string
	minReady      time.Duration
	mostAvailable int
	elapsed       time.Duration
}

// countUpdated tells how many pods of the new revision are available and fully updated, and whether one is not.
func (w *World) countUpdated() (available int, isMissing bool) {
	for _, p := range w.Pods {
		switch {
		case p.DeletionTimestamp != nil || w.hashOf(p) != w.updateHash || p.Labels[v1.LabelManager] != w.Manager.Name:
		case w.isAvailable(p) && !w.isBehind(p):
			available++
		default:
			isMissing = true
		}
	}
	return available, isMissing
}

// desiredUpdated is how many pods of the new revision are desired: all but the partition, as far as there are pods for that.
func (w *World) desiredUpdated() int {
	partition := w.Manager.Partition()
	if w.currentHash() == w.updateHash { // a good revision is for all pods
		return w.Manager.DesiredReplicas()
	}
	if !w.canMakeOld() {
		partition = min(partition, len(w.oldPods()))
	}
	return w.Manager.DesiredReplicas() - partition
}

// oldPods are the active pods of other revisions than the new one.
func (w *World) oldPods() []*corev1.Pod {
	return slices.DeleteFunc(w.activePods(), func(p *corev1.Pod) bool { return w.hashOf(p) == w.updateHash })
}

// canMakeOld reports whether the manual names a revision that pods of the old side are made from.
func (w *World) canMakeOld() bool {
	return w.currentHash() != w.updateHash && (w.currentHash() != "" || w.newestOld() != "")
}

// newestOld is the newest revision of the pods of the old side, without those that have failed; empty if there is none.
func (w *World) newestOld() string {
	newest, number := "", int64(-1)
	for _, p := range w.oldPods() {
		hash := w.hashOf(p)
		at, found := int64(math.MaxInt64), w.isStored(hash) // one that is not stored yet is the newest
		for _, r := range w.Revisions {
			if r.Labels[v1.LabelRevision] == hash {
				at, found = r.Revision, r.Annotations[v1.AnnotationFailed] == ""
			}
		}
		if found && at > number {
			newest, number = hash, at
		}
	}
	return newest
}

// bakingWatch is since when the new revision has been as good as the manual asks for.
type bakingWatch struct {
	revision string
	since    time.Time
}

// note notes what a sync has seen. That it was not good for a moment is forgotten if the status could not be written.
func (b *bakingWatch) note(w *World) {
	switch {
	case !w.isBaking() && w.statusUnwritten && b.revision == w.updateHash:
	case !w.isBaking():
		*b = bakingWatch{}
	case b.revision != w.updateHash:
		*b = bakingWatch{w.updateHash, w.Now}
	}
}

// isBaking reports whether all pods are to have the new revision, enough of them are available, and nothing is left to be done.
func (w *World) isBaking() bool {
	blamed := 0
	for _, p := range w.activePods() {
		// What is ready may have recovered, which no clock tells to the second; and one replacement may stand for several failures.
		if w.isBlamed(p) && !w.hidden[p.UID].blame.inherited && w.hashOf(p) == w.updateHash && !nodes.IsReady(p) && w.isTold(p) {
			blamed++
		}
	}
	isLeftOver := len(w.oldPods()) > 0 && (w.Manager.Strategy() != v1.OnDeleteStrategy || w.Manager.Spec.Paused)
	isFailing := blamed >= w.Manager.FailureThreshold() && w.Manager.OnFailure() != v1.ContinueOnFailure
	isChanging := func(p *corev1.Pod) bool {
		hidden := w.hidden[p.UID]
		return hidden.updates > 0 && p.Status.Phase == corev1.PodRunning && w.isBehind(p) && !hidden.IsSilent && !w.OldKubelets
	}
	return w.Manager.DesiredReplicas() > 0 && w.desiredUpdated() == w.Manager.DesiredReplicas() && !isLeftOver && !isFailing && !slices.ContainsFunc(w.activePods(), isChanging) &&
		w.countAvailable(w.updateHash) >= w.enough()
}

// enough is how many pods have to be available for a revision to be good: all but maxUnavailable, or but a quarter.
func (w *World) enough() int {
	desired, fewer := w.Manager.DesiredReplicas(), w.Manager.DesiredReplicas()/4
	if w.Manager.Strategy() == v1.RollingUpdateStrategy {
		fewer = w.Manager.MaxUnavailable()
	}
	return max(1, desired-fewer)
}

func (w *World) countAvailable(hash string) (count int) {
	for _, p := range w.activePods() {
		if w.hashOf(p) == hash && w.isAvailable(p) {
			count++
		}
	}
	return count
}

// pauseState is how many replicas were desired when the rollout of a revision was last not paused, or the most since.
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
