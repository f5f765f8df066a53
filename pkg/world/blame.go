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
}

// fault notes that a pod has failed by itself. What happens before its node has seen the change to the revision that the pod has
// is not that revision's fault.
func (w *World) fault(p *corev1.Pod) {
	life := w.lives[p.UID]
	if life.observed < life.since {
		w.say("  %s fails before its node has seen the change", p.Name)
		return
	}
	if hash := w.hashOf(p); life.blame.revision != hash || life.blame.since.IsZero() {
		life.blame = blame{hash, w.Now}
		w.say("  %s fails", p.Name)
	}
}

// faultIfInTrouble notes that a pod that was changed in place has got nothing out of it.
func (w *World) faultIfInTrouble(p *corev1.Pod) {
	if life := w.lives[p.UID]; life.observed < life.since {
		return
	}
	for status := range all(p) {
		if isInTrouble(status) {
			w.fault(p)
		}
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
	before.replaced = true
	if before.blame.revision == creation.Revision.Hash {
		w.lives[p.UID].blame = before.blame
	}
}

// isToBlame tells whether a pod has failed as one of its revision, and not recovered, and for how long that has been so.
func (w *World) isToBlame(p *corev1.Pod) (time.Duration, bool) {
	life := w.lives[p.UID]
	if life.blame.since.IsZero() || life.blame.revision != w.hashOf(p) || life.replaced || p.DeletionTimestamp != nil ||
		p.Labels[v1.LabelManager] != w.Manager.Name {
		return 0, false
	}
	return w.Now.Sub(life.blame.since), true
}

// guilty are the pods of the present revision that are to blame, and have been for at least so long.
func (w *World) guilty(atLeast time.Duration) []*corev1.Pod {
	var found []*corev1.Pod
	for _, p := range w.Pods {
		if since, is := w.isToBlame(p); is && w.hashOf(p) == w.update && since >= atLeast {
			found = append(found, p)
		}
	}
	return found
}

// forgive lets go of the failures of pods that have been available for long enough. The controller has to have had a chance to see
// that: it looks, and writes down what it sees, at this very time.
func (w *World) forgive() {
	for _, p := range w.Pods {
		life := w.lives[p.UID]
		if life.blame.since.IsZero() || !w.isServing(p) {
			continue
		}
		// A node whose clock is ahead makes the pod look younger than it is, and nobody can tell.
		since := conditionOf(p, corev1.PodReady).LastTransitionTime.Time
		if life.ready.After(since) {
			since = life.ready
		}
		if life.changed.After(since) {
			since = life.changed
		}
		if !w.Now.Before(since.Add(w.Manager.MinReady() + w.Manager.FailureGrace())) {
			w.say("  %s has recovered", p.Name)
			life.blame = blame{}
		}
	}
}
