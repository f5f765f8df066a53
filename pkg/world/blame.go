package world

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// blame is a failure that a pod of a revision has caused itself, and from which it has not recovered. The replacement of the pod inherits it.
type blame struct {
	revision string
	// pod is the last pod that had the blame, once it is gone.
	pod types.UID
	// failedAt is when the pod, or the one from which it inherits the blame, first failed. since is when its grace period began, which may begin anew.
	// Zero means that there is no blame.
	failedAt, since time.Time
	// graceOver is set if the grace period of the failure policy is over. A longer grace period then comes too late.
	graceOver bool
	// told is set if a status has reported the failure. inherited is set if another pod has failed, and this pod replaces it. anew is set if the user
	// has changed the failure policy since: then what the status has reported does not count.
	told, inherited, anew bool
	// passedAt is when the pod got the blame of another pod that had been ready for long enough, see passBlame.
	passedAt time.Time
}

// noteRollout records which revision is the new one. If that is another one than before, a rollout begins: what the status has reported of an earlier
// rollout of the same revision does not count any more.
func (w *World) noteRollout(hash string) {
	if hash == w.updateHash {
		return
	}
	w.updateHash = hash
	for _, p := range w.Pods {
		w.hidden[p.UID].blame.told = false
	}
}

// blamePod records that a pod has failed on its own. If the kubelet has not seen the update to the pod's revision yet, the failure does not count
// against that revision. But when the kubelet has seen the update, the failure looks as if it had happened afterwards. Then blameLate blames the pod,
// unless it is finished. With old kubelets, the failure counts at once, because nothing shows what they have seen.
func (w *World) blamePod(p *corev1.Pod) {
	hidden := w.hidden[p.UID]
	if hidden.failedEarly = hidden.Observed < hidden.revisionGeneration && !w.OldKubelets; hidden.failedEarly {
		w.logf("  %s fails before its node has seen the change", p.Name)
		return
	}
	if hidden.blame.inherited { // the status has reported the failure of the other pod, and not this one
		hidden.blame.inherited, hidden.blame.told = false, false
	}
	if hash := w.hashOf(p); hidden.blame.revision != hash || hidden.blame.since.IsZero() {
		hidden.blame = blame{revision: hash, failedAt: w.Now, since: w.Now}
		w.logf("  %s fails", p.Name)
	}
}

// blameLate blames a pod that failed before its kubelet saw the update, now that the kubelet has seen it.
func (w *World) blameLate(p *corev1.Pod) {
	if w.hidden[p.UID].failedEarly {
		w.blamePod(p)
	}
}

// loseBlame records that a pod goes away. Its blame stays with its revision until a replacement has shown that it can serve. A failure that no
// status has reported is forgotten.
func (w *World) loseBlame(p *corev1.Pod) {
	hidden := w.hidden[p.UID]
	if w.isBlamed(p) && w.isTold(p) {
		hidden.blame.pod = p.UID
		w.passToReplacement(hidden.blame)
	}
	hidden.blame = blame{}
}

// passToReplacement passes the blame of a pod that is gone to its replacement, if there is one: the last one, because the replacement may have finished,
// and have a replacement that names both. If the replacement has failed itself, the two count once, since the first failure. A replacement that is
// terminating inherits nothing: the blame would be gone with it.
func (w *World) passToReplacement(b blame) {
	other := w.replacementOf(b.pod, b.revision)
	if other == nil {
		w.lostBlames = append(w.lostBlames, b)
		return
	}
	switch known := w.hidden[other.UID]; {
	case known.blame.since.IsZero():
		known.blame, known.blame.inherited = b, true
	case b.since.Before(known.blame.since):
		known.blame.since, known.blame.graceOver = b.since, b.graceOver
	}
}

// loseBlameOnceUpdated returns a function to call after an update in place. If the pod then has another revision, its blame is handled as if the
// pod were gone.
func (w *World) loseBlameOnceUpdated(p *corev1.Pod) func() {
	before, blamed, isTold := w.hashOf(p), w.hidden[p.UID].blame, w.isBlamed(p) && w.isTold(p)
	return func() {
		if isTold && w.hashOf(p) != before {
			blamed.pod = p.UID
			w.lostBlames = append(w.lostBlames, blamed)
		}
	}
}

// isTold reports whether the status reports a failure of the pod, or of another pod that it replaces. Anything before the first status of a rollout
// does not count.
func (w *World) isTold(p *corev1.Pod) bool {
	known := w.hidden[p.UID].blame
	return known.inherited || known.told || !known.anew && w.isInStatus(p)
}

// isInStatus reports whether the status names the pod as failing.
func (w *World) isInStatus(p *corev1.Pod) bool {
	told := w.Manager.Status.Rollout
	return told != nil && slices.ContainsFunc(told.Failing, func(f v1.FailingPod) bool { return f.UID == p.UID && !f.Recovered })
}

// inheritBlame passes blame on to a new pod: from the pod that it replaces, or else from a pod of the same revision that is gone. A pod that replaces
// a leaving pod with blame stands for the failure of that pod, and not for another.
func (w *World) inheritBlame(p *corev1.Pod, creation plan.Creation) {
	if creation.Failed != nil && w.hidden[creation.Failed.UID] != nil {
		before := w.hidden[creation.Failed.UID]
		before.replacement = p
		if before.blame.revision == creation.Revision.Hash {
			w.hidden[p.UID].blame = before.blame
			w.hidden[p.UID].blame.inherited = true
			return
		}
	}
	ofRevision := func(b blame) bool { return b.revision == creation.Revision.Hash }
	at := slices.IndexFunc(w.lostBlames, func(b blame) bool { return ofRevision(b) && slices.Contains(creation.Replaces, b.pod) })
	standsForLeaving := creation.Before != nil && w.isBlamed(creation.Before.Pod) && w.hashOf(creation.Before.Pod) == creation.Revision.Hash
	if at < 0 && !standsForLeaving {
		at = slices.IndexFunc(w.lostBlames, ofRevision)
	}
	if at >= 0 {
		w.hidden[p.UID].blame = w.lostBlames[at]
		w.hidden[p.UID].blame.inherited = true
		w.lostBlames = slices.Delete(w.lostBlames, at, at+1)
	}
}

// isBlamed reports whether a pod has failed while it had its present revision, and has not recovered.
func (w *World) isBlamed(p *corev1.Pod) bool {
	hidden := w.hidden[p.UID]
	if other := hidden.replacement; other != nil && w.hidden[other.UID] != nil && w.isOurs(other) && other.DeletionTimestamp == nil &&
		w.hashOf(other) == hidden.blame.revision {
		return false // the replacement has the same revision, and has inherited the blame, even if it has failed itself
	}
	return !hidden.blame.since.IsZero() && hidden.blame.revision == w.hashOf(p) && p.DeletionTimestamp == nil &&
		p.Labels[v1.LabelManager] == w.Manager.Name
}

// countBlamed returns how many pods of the new revision are blamed, and for how many of them the grace period is over.
func (w *World) countBlamed() (count, graceOver int) {
	for _, p := range w.Pods {
		if !w.isBlamed(p) || w.hashOf(p) != w.updateHash {
			continue
		}
		count++
		if hidden := w.hidden[p.UID]; hidden.blame.graceOver || w.isGraceOver(hidden.blame) {
			graceOver++
		}
	}
	for _, lost := range w.lostBlames {
		if lost.revision != w.updateHash {
			continue
		}
		count++
		if lost.graceOver || w.isGraceOver(lost) {
			graceOver++
		}
	}
	return count, graceOver
}

// countTwice returns how many pods may count twice. The failure of a pod on a lost node passes to its replacement, but the node may return. If no pod is
// missing, the failure of a pod that has finished passes to another pod, which may be deleted.
func (w *World) countTwice() (count int) {
	for _, p := range w.Pods {
		if w.hidden[p.UID].mayCountTwice {
			count++
		}
	}
	return count
}

// isGraceOver reports whether the grace period is over, within a second, because timestamps have whole seconds.
func (w *World) isGraceOver(b blame) bool {
	return !b.since.IsZero() && w.Now.Sub(b.since) >= w.Manager.FailureGrace()-time.Second
}

// noteRecoveries records what the controller has seen of failing pods in this sync, and ends the blame of pods that have been available for long
// enough.
func (w *World) noteRecoveries() {
	for _, p := range w.Pods {
		hidden := w.hidden[p.UID]
		hidden.blame.anew = false
		w.startGraceAnew(p)
		hidden.blame.told = w.isTold(p)
		if nodes.IsFinished(p) && !hidden.blame.since.IsZero() && w.countNew() >= w.desiredUpdated() {
			hidden.mayCountTwice = true
		}
		switch {
		case !nodes.IsReady(p):
			hidden.ReadySince = time.Time{}
		case hidden.ReadySince.IsZero():
			hidden.ReadySince = w.Now
		}
		if hidden.blame.since.IsZero() || !w.isAvailable(p) {
			hidden.blame.graceOver = hidden.blame.graceOver || w.isGraceOver(hidden.blame)
			continue
		}
		since := hidden.ReadySince // regardless of the kubelet's clock
		for _, later := range []time.Time{hidden.updatedAt, hidden.blame.passedAt} {
			if later.After(since) {
				since = later
			}
		}
		takes := w.Manager.MinReady() + w.Manager.FailureGrace()
		if !w.Now.Before(since.Add(takes - time.Second)) { // the pod may have recovered: the times in the status are whole seconds
			hidden.blame.told = w.isInStatus(p)
		}
		if takes == 0 || !w.Now.Before(since.Add(takes+time.Second)) {
			w.logf("  %s has recovered", p.Name)
			w.passBlame(p, hidden.blame)
			hidden.blame, hidden.recoveredAt = blame{}, w.Now
		}
	}
}

// startGraceAnew gives the replacement of a lost pod its own time to become ready, once a status has said that the lost pod leaves, unless the time of
// the lost pod was over by then.
func (w *World) startGraceAnew(p *corev1.Pod) {
	known := &w.hidden[p.UID].blame
	if isTold := slices.ContainsFunc(w.Manager.Status.LeavingPods, func(l v1.LeavingPod) bool {
		return l.Name == p.Name && l.Cause == v1.LeavingForNodeLoss
	}); !isTold || known.since.IsZero() || known.graceOver || w.isGraceOver(*known) || !w.isLeaving(p) {
		return
	}
	since := w.Now
	if other := w.replacementOf(p.UID, known.revision); other != nil {
		since = other.CreationTimestamp.Time
	}
	if since.After(known.since) {
		known.since = since
	}
}

// replacementOf returns the last pod of a revision that was created to replace a pod, or nil if there is none. A terminating one does not count.
func (w *World) replacementOf(uid types.UID, revision string) *corev1.Pod {
	for _, p := range slices.Backward(w.Pods) {
		if p.DeletionTimestamp == nil && w.hashOf(p) == revision && slices.Contains(strings.Split(p.Annotations[v1.AnnotationReplaces], ","), string(uid)) {
			return p
		}
	}
	return nil
}

// passBlame passes inherited blame on to the pod that the status names instead, or else to another pod that was created since the failure and is not
// ready. Nothing but the status shows which of several pods is the replacement of a pod that is gone.
func (w *World) passBlame(p *corev1.Pod, b blame) {
	if !b.inherited {
		return
	}
	others := slices.DeleteFunc(w.activePods(), func(other *corev1.Pod) bool {
		return other == p || !w.hidden[other.UID].blame.since.IsZero() || w.hashOf(other) != b.revision
	})
	at := slices.IndexFunc(others, w.isInStatus)
	if at < 0 {
		at = slices.IndexFunc(others, func(other *corev1.Pod) bool {
			return !nodes.IsReady(other) && !other.CreationTimestamp.Time.Before(b.since.Truncate(time.Second))
		})
	}
	if at >= 0 {
		b.passedAt = w.Now
		w.hidden[others[at].UID].blame = b
	}
}
