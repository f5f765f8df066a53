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

// hiddenState is the part of a pod's state that the API server does not show.
type hiddenState struct {
	*nodes.State
	// updates is how often an update in place of the pod was completed or interrupted.
	updates int
	// interrupted is set if an update in place was begun and not completed. refused is the hash of the revision to which the API server has refused
	// an update.
	interrupted bool
	refused     string
	// updatedAt is when the pod was last updated in place, and revisionGeneration is the generation with which it got its revision.
	updatedAt          time.Time
	revisionGeneration int64
	// mayCountTwice is set if another pod may have got the pod's blame although the pod is still there, see countTwice.
	mayCountTwice bool
	// stuck is set if the pod stays terminating.
	stuck bool
	// goneAt is when the terminating pod is gone, and quality how its containers behave. Both are for a world without randomness.
	goneAt  time.Time
	quality nodes.Quality
	// byHand is set if a user has created the pod, so that its spec may differ from all templates.
	byHand bool
	blame  blame
	// failedEarly is set if the pod has failed after an update in place, but before its kubelet had seen the update.
	failedEarly bool
	// recoveredAt is when the pod last recovered from a failure, or zero if it never did.
	recoveredAt time.Time
	// replacement is the pod that was created to replace this one.
	replacement *corev1.Pod
}

func isMarkedForDeletion(p *corev1.Pod) bool { return p.Annotations[v1.AnnotationDelete] == "true" }

// isDrained reports whether our readiness gate is closed.
func isDrained(p *corev1.Pod) bool {
	gate := nodes.Condition(p, v1.InPlaceReady)
	return gate != nil && gate.Status != corev1.ConditionTrue &&
		slices.Contains(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: v1.InPlaceReady})
}

// isOurs reports whether the PodManager controls the pod, and the pod has the label.
func (w *World) isOurs(p *corev1.Pod) bool {
	return p.Labels[v1.LabelManager] == w.Manager.Name && metav1.IsControlledBy(p, w.Manager)
}

// activePods returns the pods of the PodManager, including orphans to adopt, that are neither terminating nor finished. Pods that are leaving do not count.
func (w *World) activePods() []*corev1.Pod {
	var found []*corev1.Pod
	for _, p := range w.Pods {
		isOrphan := metav1.GetControllerOf(p) == nil
		if p.DeletionTimestamp == nil && !nodes.IsFinished(p) && p.Labels[v1.LabelManager] == w.Manager.Name && (isOrphan || w.isOurs(p)) && !w.isLeaving(p) {
			found = append(found, p)
		}
	}
	return found
}

// hashOf returns the revision hash of a pod. A pod without one, which a user created by hand, counts as a pod of the current revision, or else of
// the new revision.
func (w *World) hashOf(p *corev1.Pod) string {
	if hash := p.Labels[v1.LabelRevision]; hash != "" {
		return hash
	}
	if current := w.currentHash(); current != "" {
		return current
	}
	return w.updateHash
}

// currentHash returns the hash of the current revision, or empty if there is none or it is lost.
func (w *World) currentHash() string {
	for _, r := range w.Revisions {
		if r.Name == w.Manager.Status.CurrentRevision {
			return r.Labels[v1.LabelRevision]
		}
	}
	for _, r := range w.remembered { // the controller will store it again
		if r.Name == w.Manager.Status.CurrentRevision {
			return r.Hash
		}
	}
	if w.Manager.Status.CurrentRevision == w.Manager.Name+"-"+w.updateHash { // the spec has its template
		return w.updateHash
	}
	return ""
}

// isStored reports whether the template of a revision is stored, remembered, or in the spec.
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

// isAvailable reports whether a pod has been ready for minReadySeconds since it became ready and since its last update in place. The kubelet's
// clock makes no difference.
func (w *World) isAvailable(p *corev1.Pod) bool {
	hidden := w.hidden[p.UID]
	if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning || !nodes.IsReady(p) || isDrained(p) || w.isRestartPending(p) || w.IsStarting(p) || w.IsStartupUnknown(p) {
		return false
	}
	since := w.ReadyAt(p)
	if hidden.updatedAt.After(since) && !w.IsResizeDelayed(p) {
		since = hidden.updatedAt
	}
	return w.Manager.MinReady() == 0 || !w.Now.Before(since.Add(w.Manager.MinReady()))
}

// isBehind reports whether the kubelet has visibly not carried out the pod's spec completely. If the kubelet has been silent about a resize for long,
// nothing shows that it has yet to resize the pod. But the status shows if a container has yet to get its image.
func (w *World) isBehind(p *corev1.Pod) bool {
	hasOtherImage := func(c corev1.Container) bool { return w.hidden[p.UID].HasOtherImage(&c) }
	return w.IsBehind(p) && (!w.isSilentForLong(p) || slices.ContainsFunc(p.Spec.Containers, hasOtherImage))
}

// isSilentForLong reports whether the kubelet has seen the pod's spec, and has been silent about a resize for so long that the controller does not
// wait for it any more.
func (w *World) isSilentForLong(p *corev1.Pod) bool {
	const maxSilence = 30 * time.Second
	hidden := w.hidden[p.UID]
	return hidden.IsSilent && hidden.Observed == p.Generation && !w.Now.Before(hidden.updatedAt.Add(maxSilence))
}

// isRestartPending reports whether the status of a pod is outdated, because its kubelet has yet to apply an update.
//
// With old kubelets, only the restart of a container shows that an update was applied. So for an update that restarts no container, isRestartPending
// returns false. It also returns false after more than one update, or after an interrupted one: a restart may then have been for an earlier update,
// or after a crash.
func (w *World) isRestartPending(p *corev1.Pod) bool {
	hidden := w.hidden[p.UID]
	if !w.OldKubelets {
		return w.isBehind(p) && !w.IsResizeDelayed(p)
	}
	if hidden.interrupted || hidden.updates > 1 {
		return false
	}
	return w.willRestart(p)
}

// willRestart reports whether the kubelet has yet to restart a container for an update, whether or not that is visible.
func (w *World) willRestart(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return w.hidden[p.UID].NeedsRestart(&c) })
}

// isInfeasible reports whether the kubelet has refused to resize the pod.
func (w *World) isInfeasible(p *corev1.Pod) bool {
	pending := nodes.Condition(p, corev1.PodResizePending)
	return pending != nil && pending.Reason == corev1.PodReasonInfeasible && w.hidden[p.UID].Applied == p.Generation
}

// canRun reports whether a pod of this template can run.
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

// canUpdateInPlace reports whether a pod of one template can be updated to the other in place: only images, CPU and memory of its containers
// differ, and no restart was requested.
func canUpdateInPlace(from, to *corev1.PodTemplateSpec) bool {
	if from == nil || to == nil || from.Annotations[v1.AnnotationRestartedAt] != to.Annotations[v1.AnnotationRestartedAt] ||
		len(from.Spec.Containers) != len(to.Spec.Containers) {
		return false
	}
	readsNote := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(env corev1.EnvVar) bool { return env.ValueFrom != nil })
	}
	if from.Annotations["note"] != to.Annotations["note"] && slices.ContainsFunc(to.Spec.Containers, readsNote) {
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

// countUpdated returns how many pods of the new revision are available and completely updated, how many others are, too, although the
// controller may not believe it, and whether a pod is not, or may not be. A pod is not completely updated while a container has yet to be restarted
// for a resize, even if the kubelet has been silent for long, because the controller sees that there was no restart.
func (w *World) countUpdated() (available, doubtful int, isMissing bool) {
	for _, p := range w.Pods {
		switch {
		case p.DeletionTimestamp != nil || w.hashOf(p) != w.updateHash || p.Labels[v1.LabelManager] != w.Manager.Name || w.isLeaving(p):
		case !w.isAvailable(p) || w.isBehind(p) || w.isSilentForLong(p) && w.willRestart(p):
			isMissing = true
		case w.IsStartupDoubtful(p):
			doubtful, isMissing = doubtful+1, true
		default:
			available++
		}
	}
	return available, doubtful, isMissing
}

// countNew returns how many active pods have the new revision.
func (w *World) countNew() (count int) {
	for _, p := range w.activePods() {
		if w.hashOf(p) == w.updateHash {
			count++
		}
	}
	return count
}

// desiredUpdated returns how many pods of the new revision are desired: all except the partition, as far as there are pods for the partition.
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

// oldPods returns the active pods of revisions other than the new one.
func (w *World) oldPods() []*corev1.Pod {
	return slices.DeleteFunc(w.activePods(), func(p *corev1.Pod) bool { return w.hashOf(p) == w.updateHash })
}

// canMakeOld reports whether, by the documented rules, there is a revision from which pods of the old side are created.
func (w *World) canMakeOld() bool {
	return w.currentHash() != w.updateHash && (w.currentHash() != "" || w.newestOld() != "")
}

// newestOld returns the newest revision of the pods of the old side that has not failed, or empty if there is none.
func (w *World) newestOld() string {
	newest, number := "", int64(-1)
	for _, p := range append(w.oldPods(), w.leavingPods()...) { // a replacement may get the revision of the pod that leaves
		hash := w.hashOf(p)
		if hash == w.updateHash {
			continue
		}
		at, found := int64(math.MaxInt64), w.isStored(hash) // a revision that is not stored yet is the newest
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

// bakingWatch records since when the new revision has fulfilled the documented conditions for a good revision.
type bakingWatch struct {
	revision string
	since    time.Time
}

// note records what a sync has seen. If the status could not be written, a short interruption is forgotten.
func (b *bakingWatch) note(w *World) {
	switch {
	case !w.isBaking() && w.statusUnwritten && b.revision == w.updateHash:
	case !w.isBaking():
		*b = bakingWatch{}
	case b.revision != w.updateHash:
		*b = bakingWatch{w.updateHash, w.Now}
	}
}

// isBaking reports whether all pods are to have the new revision, enough of them are available, and nothing is left to do. An orphan that the
// controller could not adopt is not a pod of the PodManager yet.
func (w *World) isBaking() bool {
	desired := w.Manager.DesiredReplicas()
	isLeftOver := slices.ContainsFunc(w.oldPods(), w.isOurs) && (w.Manager.Strategy() != v1.OnDeleteStrategy || w.Manager.Spec.Paused)
	isFailing := w.countDown() >= w.Manager.FailureThreshold() && w.Manager.OnFailure() != v1.ContinueOnFailure
	return desired > 0 && w.desiredUpdated() == desired && !isLeftOver && !isFailing && !slices.ContainsFunc(w.activePods(), w.isChanging) &&
		w.countAvailable(w.updateHash) >= w.enough()
}

// countDown returns how many pods of the new revision the status names as failed and are still not ready. Ready pods do not count, because they may
// have recovered. Replacements do not count, because nothing shows which failure they stand for, and neither does a pod whose failure has passed to
// its replacement.
func (w *World) countDown() (count int) {
	for _, p := range w.activePods() {
		if w.isBlamed(p) && !w.hidden[p.UID].blame.inherited && !w.hidden[p.UID].mayCountTwice && w.hashOf(p) == w.updateHash && !nodes.IsReady(p) && w.isTold(p) {
			count++
		}
	}
	return count
}

// isChanging reports whether a pod shows that the kubelet has yet to carry out an update in place.
func (w *World) isChanging(p *corev1.Pod) bool {
	hidden := w.hidden[p.UID]
	return hidden.updates > 0 && p.Status.Phase == corev1.PodRunning && w.isBehind(p) && !hidden.IsSilent && !w.OldKubelets
}

// enough returns how many pods have to be available for a revision to be good: all but maxUnavailable, or all but a quarter.
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

// pauseState is how many replicas were desired when the rollout of a revision was paused, or the highest number since.
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
