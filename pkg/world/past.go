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

// storeTemplate stores a template as the controller would, and returns its revision.
func (w *World) storeTemplate(template *corev1.PodTemplateSpec) *history.Revision {
	old := w.Manager.DeepCopy()
	old.Spec.Template = template
	old.Status.CurrentRevision = "another" // so that the plan stores a second revision, too
	decided := plan.Make(plan.Observed{
		Manager: old, Revisions: w.Revisions, Now: w.Now, PodNamed: func(string) *corev1.Pod { return nil },
	})
	w.putRevisions(decided.Store)
	return decided.Revisions.Update
}

// addPast gives the PodManager a past: pods of several revisions in all states.
func (w *World) addPast() {
	var revisions []*history.Revision
	for number := range 1 + w.dice.IntN(3) {
		template := w.Manager.Spec.Template
		if number > 0 || w.chance(0.5) {
			template = w.user.Template(w.Manager)
		}
		revision := w.storeTemplate(template)
		if !slices.ContainsFunc(revisions, func(r *history.Revision) bool { return r.Hash == revision.Hash }) {
			w.user.Remember(template)
			w.templateByHash[revision.Hash] = template
			revisions = append(revisions, revision)
		}
	}
	if current := revisions[w.dice.IntN(len(revisions))]; w.chance(0.8) && w.canRun(current.Template()) {
		w.Manager.Status.CurrentRevision = current.Name
	}
	for index := range int(w.user.Size()) {
		p := w.addPod(plan.NewPod(w.Manager, plan.Creation{Index: index, Revision: revisions[w.dice.IntN(len(revisions))]}))
		p.CreationTimestamp = metav1.NewTime(beginning.Add(-time.Duration(w.dice.IntN(7200)) * time.Second))
		if w.chance(0.05) && w.quality(p.Spec.Containers[0].Image) == good && w.Manager.Status.CurrentRevision != "" {
			delete(p.Labels, v1.LabelRevision) // adopted
			w.hidden[p.UID].byHand = true
		}
		if w.chance(0.05) {
			p.OwnerReferences = nil
		}
		for range w.dice.IntN(5) {
			if step := w.nextStep(p); step != nil && p.DeletionTimestamp == nil {
				step()
			}
		}
		if w.chance(0.2) {
			w.mishap(p)
		}
		w.Now = w.Now.Add(time.Duration(w.dice.IntN(10)) * time.Second)
	}
}
