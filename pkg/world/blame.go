package world

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
)

// blame is what a pod has to answer for: a failure of its own, as a pod of this revision, that it has not recovered from.
type blame struct {
	revision string
	// since is when the first of them was; zero if there was none.
	since time.Time
	// condemned tells that the pod has had its time to recover: who grants it more of that later comes too late.
	graceOver bool
}

// fault notes that a pod has failed by itself. What happens before its node has seen the change to the revision that the pod has
// is not that revision's fault. Nobody can tell a container that has crashed between the change and that moment from one that did
// so right after it, though: from then on the pod is to blame, unless it has ended. A node that does not tell what it has seen leaves
// no way to tell at all.
func (w *World) blamePod(p *corev1.Pod) {
	hidden := w.hidden[p.UID]
	if hidden.failedEarly = hidden.observed < hidden.revisionGeneration && !w.oldKubelets; hidden.failedEarly {
		w.logf("  %s fails before its node has seen the change", p.Name)
		return
	}
	if hash := w.hashOf(p); hidden.blame.revision != hash || hidden.blame.since.IsZero() {
		hidden.blame = blame{revision: hash, since: w.Now}
		w.logf("  %s fails", p.Name)
	}
}

// inherit lets a pod answer for the one in whose place it was made.
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

// isToBlame tells whether a pod has failed as one of its revision, and not recovered.
func (w *World) isBlamed(p *corev1.Pod) bool {
	hidden := w.hidden[p.UID]
	if other := hidden.replacement; other != nil && w.hidden[other.UID] != nil && w.isOurs(other) && other.DeletionTimestamp == nil &&
		!isFinished(other) && w.hashOf(other) == hidden.blame.revision {
		return false // the replacement answers for it, as long as it has the same revision
	}
	return !hidden.blame.since.IsZero() && hidden.blame.revision == w.hashOf(p) && p.DeletionTimestamp == nil &&
		p.Labels[v1.LabelManager] == w.Manager.Name
}

// guilty is how many pods of the present revision are to blame, and how many of these have had their time to recover.
func (w *World) countBlamed() (count, condemned int) {
	for _, p := range w.Pods {
		if !w.isBlamed(p) || w.hashOf(p) != w.updateHash {
			continue
		}
		count++
		if hidden := w.hidden[p.UID]; hidden.blame.graceOver || w.isGraceOver(hidden.blame) {
			condemned++
		}
	}
	return count, condemned
}

// isOver tells whether the time to recover is over. What is written down is good to the second.
func (w *World) isGraceOver(b blame) bool {
	return !b.since.IsZero() && w.Now.Sub(b.since) >= w.Manager.FailureGrace()-time.Second
}

// watch notes what the controller has had a chance to see of failing pods, and lets go of the failures of those that have been
// available for long enough: it looks, and writes down what it sees, at this very time.
func (w *World) noteRecoveries() {
	for _, p := range w.Pods {
		hidden := w.hidden[p.UID]
		switch {
		case !isReady(p):
			hidden.readySince = time.Time{}
		case hidden.readySince.IsZero():
			hidden.readySince = w.Now
		}
		if hidden.blame.since.IsZero() || !w.isAvailable(p) {
			hidden.blame.graceOver = hidden.blame.graceOver || w.isGraceOver(hidden.blame)
			continue
		}
		since := hidden.readySince // whatever the clock of its node says
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
