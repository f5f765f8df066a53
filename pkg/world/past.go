package world

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
)

// revise stores a template as the controller would, and returns it as a revision.
func (w *World) revise(template *corev1.PodTemplateSpec) *history.Revision {
	old := w.Manager.DeepCopy()
	old.Spec.Template = template
	old.Status.CurrentRevision = "another" // a second one has to be stored
	decided := plan.Make(plan.Observed{
		Manager: old, Revisions: w.Revisions, Now: w.Now, PodNamed: func(string) *corev1.Pod { return nil },
	})
	w.put(decided.Store)
	return decided.Revisions.Update
}

// populate lets a PodManager have been there for long: with pods, of several revisions, in all states.
func (w *World) populate() {
	var known []*history.Revision
	for number := range 1 + w.dice.IntN(3) {
		template := w.Manager.Spec.Template
		if number > 0 || w.chance(0.5) {
			template = w.randomTemplate()
		}
		revision := w.revise(template)
		if !slices.ContainsFunc(known, func(r *history.Revision) bool { return r.Hash == revision.Hash }) {
			w.templates = append(w.templates, template)
			w.known[revision.Hash] = template
			known = append(known, revision)
		}
	}
	if proven := known[w.dice.IntN(len(known))]; w.chance(0.8) && w.isGood(proven.Template()) {
		w.Manager.Status.CurrentRevision = proven.Name
	}
	for index := range int(w.size()) {
		p := w.add(plan.NewPod(w.Manager, plan.Creation{Index: index, Revision: known[w.dice.IntN(len(known))]}))
		p.CreationTimestamp = metav1.NewTime(beginning.Add(-time.Duration(w.dice.IntN(7200)) * time.Second))
		if w.chance(0.05) && w.quality(p.Spec.Containers[0].Image) == good && w.Manager.Status.CurrentRevision != "" {
			delete(p.Labels, v1.LabelRevision) // adopted
			w.lives[p.UID].byHand = true
		}
		if w.chance(0.05) {
			p.OwnerReferences = nil
		}
		for range w.dice.IntN(5) {
			if step := w.next(p); step != nil && p.DeletionTimestamp == nil {
				step()
			}
		}
		if w.chance(0.2) {
			w.befall(p)
		}
		w.Now = w.Now.Add(time.Duration(w.dice.IntN(10)) * time.Second)
	}
}
