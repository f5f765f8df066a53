package world

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// blame is the failure of a pod of a revision by its own fault, from which the pod has not recovered.
type blame struct {
	revision string
	// since is when the pod first failed; zero if it has not.
	since time.Time
	// graceOver tells that the grace period of the failure policy is over: a longer grace period comes too late.
	graceOver bool
}

// blamePod notes that a pod has failed by itself. A failure before the kubelet has seen the update to the pod's revision does not count
// against that revision. But once the kubelet has seen it, nobody can tell such a crash from one right after the update: then the pod is
// blamed, unless it is finished. With old kubelets nobody can tell at all.
func (w *World) blamePod(p *corev1.Pod) {
	hidden := w.hidden[p.UID]
	if hidden.failedEarly = hidden.Observed < hidden.revisionGeneration && !w.OldKubelets; hidden.failedEarly {
		w.logf("  %s fails before its node has seen the change", p.Name)
		return
	}
	if hash := w.hashOf(p); hidden.blame.revision != hash || hidden.blame.since.IsZero() {
		hidden.blame = blame{revision: hash, since: w.Now}
		w.logf("  %s fails", p.Name)
	}
}

// blameLate blames a pod whose kubelet has seen the update, and that has failed before.
func (w *World) blameLate(p *corev1.Pod) {
	if w.hidden[p.UID].failedEarly {
		w.blamePod(p)
	}
}

// inheritBlame passes the blame of a pod on to its replacement of the same revision.
func (w *World) inheritBlame(p *corev1.Pod, creation plan.Creation) {
	if creation.Replaces == nil {
		return
	}
	before := w.hidden[creation.Replaces.UID]
	if before == nil {
		return
	}
	before.replacement = p
	if before.blame.revision == creation.Revision.Hash {
		w.hidden[p.UID].blame = before.blame
	}
}

// isBlamed tells whether a pod has failed as a pod of its revision, and has not recovered.
func (w *World) isBlamed(p *corev1.Pod) bool {
	hidden := w.hidden[p.UID]
	if other := hidden.replacement; other != nil && w.hidden[other.UID] != nil && w.isOurs(other) && other.DeletionTimestamp == nil &&
		!nodes.IsFinished(other) && w.hashOf(other) == hidden.blame.revision {
		return false // the replacement has inherited the blame, as long as it has the same revision
	}
	return !hidden.blame.since.IsZero() && hidden.blame.revision == w.hashOf(p) && p.DeletionTimestamp == nil &&
		p.Labels[v1.LabelManager] == w.Manager.Name
}

// countBlamed is how many pods of the new revision are blamed, and for how many of these the grace period is over.
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
	return count, graceOver
}

// isGraceOver tells whether the grace period is over, up to a second: timestamps have whole seconds.
func (w *World) isGraceOver(b blame) bool {
	return !b.since.IsZero() && w.Now.Sub(b.since) >= w.Manager.FailureGrace()-time.Second
}

// noteRecoveries notes what the controller has seen of failing pods in this sync, and ends the blame of pods that have been available for
// long enough.
func (w *World) noteRecoveries() {
	for _, p := range w.Pods {
		hidden := w.hidden[p.UID]
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
		since := hidden.ReadySince // whatever the kubelet's clock says
		if hidden.updatedAt.After(since) {
			since = hidden.updatedAt
		}
		takes := w.Manager.MinReady() + w.Manager.FailureGrace()
		if takes == 0 || !w.Now.Before(since.Add(takes+time.Second)) {
			w.logf("  %s has recovered", p.Name)
			hidden.blame, hidden.recoveredAt = blame{}, w.Now
		}
	}
}
