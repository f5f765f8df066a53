package history

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Store is a request to create or update a ControllerRevision.
type Store struct {
	Revision *appsv1.ControllerRevision
	// Exists tells that the ControllerRevision exists and is updated: its template is in use again, or its change cause is another one.
	Exists bool
	// origin is the Revision that the ControllerRevision stores.
	origin *Revision
}

// Done notes that the request has succeeded.
func (s Store) Done(stored *appsv1.ControllerRevision) { s.origin.Stored(stored) }

// ToStore returns the revisions to store before the plan is carried out, and the revisions that the controller remembers until the
// next plan. A revision is stored when it first matters: when it has proven good, so that a rollback may return to it; when the
// template has changed, so that there are two revisions to tell apart; or when pods may be updated in place, which needs the template
// that they were created from. Until then it is not stored, so that the pods of a new PodManager do not wait for one more write.
func (r Revisions) ToStore(isGood bool) (stores []Store, remember []*Revision) {
	s, newest := r.sources, int64(0)
	for _, stored := range s.all() {
		newest = max(newest, stored.Revision)
	}
	update := r.Update
	for _, remembered := range s.Remembered {
		revision := r.byHash[remembered.Hash]
		if revision == nil || revision.stored != nil || revision == update {
			continue
		}
		hasRevision := func(pod *corev1.Pod) bool { return pod.Labels[v1.LabelRevision] == revision.Hash }
		if revision == r.Current || slices.ContainsFunc(s.Pods, hasRevision) {
			newest = after(newest)
			stores = append(stores, Store{Revision: revision.ControllerRevision(s.Manager, newest), origin: revision})
			remember = append(remember, revision)
		}
	}
	if current := r.Current; current != nil && current != update && !slices.Contains(remember, current) {
		remember = append(remember, current) // somebody may delete the ControllerRevision
	}
	hasOtherRevision := func(pod *corev1.Pod) bool { return r.HashOf(pod) != update.Hash }
	switch {
	case update.stored != nil:
		stores = append(stores, renew(s.Manager, update, newest)...)
	case newest > 0 || s.Manager.Status.CurrentRevision != "" || isGood || s.Manager.PodUpdatePolicy() != v1.RecreatePods ||
		slices.ContainsFunc(s.Pods, hasOtherRevision) || slices.ContainsFunc(s.OrphanPods, hasOtherRevision):
		revision := update.ControllerRevision(s.Manager, after(newest))
		if cause := s.Manager.Annotations[v1.AnnotationChangeCause]; cause != "" {
			revision.Annotations = map[string]string{v1.AnnotationChangeCause: cause}
		}
		stores = append(stores, Store{Revision: revision, origin: update})
	}
	return stores, append(remember, update)
}

// after is the number of the revision after the newest. There is none after the highest, which only somebody else can have written: the
// API server takes no negative number.
func after(newest int64) int64 {
	if newest == math.MaxInt64 {
		return newest
	}
	return newest + 1
}

// ControllerRevision is the object that stores the revision under this number.
func (r *Revision) ControllerRevision(manager *v1.PodManager, number int64) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       manager.Namespace,
			Name:            r.Name,
			Labels:          map[string]string{v1.LabelManager: manager.Name, v1.LabelRevision: r.Hash},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(manager, v1.GroupVersionKind)},
		},
		Data:     runtime.RawExtension{Raw: r.data},
		Revision: number,
	}
}

// renew updates the ControllerRevision of the present template; the result is empty if nothing is to be updated. An old template that is
// in use again becomes the newest revision, as in a Deployment, and has not failed yet.
func renew(manager *v1.PodManager, revision *Revision, newest int64) []Store {
	cause := manager.Annotations[v1.AnnotationChangeCause]
	stored := revision.stored
	isNewest, hasCause := stored.Revision == newest, cause == "" || stored.Annotations[v1.AnnotationChangeCause] == cause
	if isNewest && hasCause {
		return nil
	}
	renewed := stored.DeepCopy()
	if !isNewest {
		renewed.Revision = after(newest)
		delete(renewed.Annotations, v1.AnnotationFailed)
	}
	if !hasCause {
		metav1.SetMetaDataAnnotation(&renewed.ObjectMeta, v1.AnnotationChangeCause, cause)
	}
	return []Store{{Revision: renewed, Exists: true, origin: revision}}
}

// ToMark is the ControllerRevision of the present template with or without the mark of a failed one, if it is to have the other; else nil. The
// mark is for people and for undo, so that no pod waits for it.
func (r Revisions) ToMark(isGood, hasFailed bool) *appsv1.ControllerRevision {
	stored := r.Update.stored
	if stored == nil {
		return nil
	}
	isGood = isGood || r.Current != nil && r.Current.Name == r.Update.Name
	isMarked := stored.Annotations[v1.AnnotationFailed] != ""
	if isToBeMarked := hasFailed || isMarked && !isGood; isMarked == isToBeMarked {
		return nil
	}
	marked := stored.DeepCopy()
	if isMarked {
		delete(marked.Annotations, v1.AnnotationFailed)
	} else {
		metav1.SetMetaDataAnnotation(&marked.ObjectMeta, v1.AnnotationFailed, "true")
	}
	return marked
}

// HaveSameTemplate tells whether two ControllerRevisions have the same template.
func HaveSameTemplate(stored, wanted *appsv1.ControllerRevision) bool {
	if bytes.Equal(stored.Data.Raw, wanted.Data.Raw) {
		return true
	}
	a, errA := templateIn(stored)
	b, errB := templateIn(wanted)
	return errA == nil && errB == nil && equality.Semantic.DeepEqual(a, b)
}

// BeyondLimit are the revisions to drop: the oldest, beyond the limit, of those that neither the spec, the status nor a pod uses.
func (r Revisions) BeyondLimit() []*appsv1.ControllerRevision {
	used := map[string]bool{r.Update.Hash: true}
	if r.Current != nil {
		used[r.Current.Hash] = true
	}
	for _, pod := range slices.Concat(r.sources.Pods, r.sources.OrphanPods) {
		used[pod.Labels[v1.LabelRevision]] = true
	}
	var unused []*appsv1.ControllerRevision
	for _, stored := range r.sources.Stored {
		if !used[stored.Labels[v1.LabelRevision]] {
			unused = append(unused, stored)
		}
	}
	slices.SortFunc(unused, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return unused[:max(0, len(unused)-r.sources.Manager.RevisionsKept())]
}
