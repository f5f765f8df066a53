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
	condemned bool
}

// fault notes that a pod has failed by itself. What happens before its node has seen the change to the revision that the pod has
// is not that revision's fault. Nobody can tell a container that has crashed between the change and that moment from one that did
// so right after it, though: from then on the pod is to blame, unless it has ended. A node that does not tell what it has seen leaves
// no way to tell at all.
func (w *World) fault(p *corev1.Pod) {
	life := w.lives[p.UID]
	if life.early = life.observed < life.since && !w.oldNodes; life.early {
		w.say("  %s fails before its node has seen the change", p.Name)
		return
	}
	if hash := w.hashOf(p); life.blame.revision != hash || life.blame.since.IsZero() {
		life.blame = blame{revision: hash, since: w.Now}
		w.say("  %s fails", p.Name)
	}
}

// inherit lets a pod answer for the one in whose place it was made.
func (w *World) inherit(p *corev1.Pod, creation plan.Creation) {
	if creation.Replaces == nil {
		return
	}
	before := w.lives[creation.Replaces.UID]
	if before == nil {
		return
	}
	before.replacement = p
	if before.blame.revision == creation.Revision.Hash {
		w.lives[p.UID].blame = before.blame
	}
}

// isToBlame tells whether a pod has failed as one of its revision, and not recovered.
func (w *World) isToBlame(p *corev1.Pod) bool {
	life := w.lives[p.UID]
	if other := life.replacement; other != nil && w.lives[other.UID] != nil && w.isOurs(other) && other.DeletionTimestamp == nil &&
		!hasEnded(other) && w.hashOf(other) == life.blame.revision {
		return false // the replacement answers for it, as long as it has the same revision
	}
	return !life.blame.since.IsZero() && life.blame.revision == w.hashOf(p) && p.DeletionTimestamp == nil &&
		p.Labels[v1.LabelManager] == w.Manager.Name
}

// guilty is how many pods of the present revision are to blame, and how many of these have had their time to recover.
func (w *World) guilty() (count, condemned int) {
	for _, p := range w.Pods {
		if !w.isToBlame(p) || w.hashOf(p) != w.update {
			continue
		}
		count++
		if life := w.lives[p.UID]; life.blame.condemned || w.isOver(life.blame) {
			condemned++
		}
	}
	return count, condemned
}

// isOver tells whether the time to recover is over. What is written down is good to the second.
func (w *World) isOver(b blame) bool {
	return !b.since.IsZero() && w.Now.Sub(b.since) >= w.Manager.FailureGrace()-time.Second
}

// watch notes what the controller has had a chance to see of failing pods, and lets go of the failures of those that have been
// available for long enough: it looks, and writes down what it sees, at this very time.
func (w *World) watch() {
	for _, p := range w.Pods {
		life := w.lives[p.UID]
		switch {
		case !isReady(p):
			life.seen = time.Time{}
		case life.seen.IsZero():
			life.seen = w.Now
		}
		if life.blame.since.IsZero() || !w.isServing(p) {
			life.blame.condemned = life.blame.condemned || w.isOver(life.blame)
			continue
		}
		since := life.seen // whatever the clock of its node says
		if life.changed.After(since) {
			since = life.changed
		}
		takes := w.Manager.MinReady() + w.Manager.FailureGrace()
		if takes == 0 || !w.Now.Before(since.Add(takes+time.Second)) {
			w.say("  %s has recovered", p.Name)
			life.blame, life.recovered = blame{}, w.Now
		}
	}
}
