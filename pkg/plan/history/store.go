package history

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

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
	// Exists is set if the ControllerRevision exists and is updated, because its template is in use again, its change cause has changed, or another
	// client has changed its label. Nothing depends on such an update.
	Exists bool
	// origin is the Revision that the ControllerRevision stores.
	origin *Revision
}

// Done records that the request has succeeded.
func (s Store) Done(stored *appsv1.ControllerRevision) { s.origin.Stored(stored) }

// ToStore returns the revisions to store before the plan is carried out, and the revisions that the controller remembers until the next plan. A
// revision is stored when it first matters: when all its pods are available, so that a rollback may return to it; when the template has changed, so
// that there are two revisions to distinguish; or when pods may be updated in place, which needs the template that they were created from. Until
// then it is not stored, so that the pods of a new PodManager do not wait for one more write.
func (r Revisions) ToStore(isAvailable bool) (stores []Store, remember []*Revision) {
	newest := int64(0)
	for _, stored := range r.sources.all() {
		newest = max(newest, stored.Revision)
	}
	for _, revision := range r.unstoredInUse() {
		stored := revision.ControllerRevision(r.sources.Manager, after(newest))
		if lost := revision.lost; lost != nil { // store it unchanged
			stored.Revision, stored.Annotations = lost.Revision, lost.Annotations
		}
		newest = max(newest, stored.Revision)
		stores = append(stores, Store{Revision: stored, origin: revision})
		remember = append(remember, revision)
	}
	if current := r.Current; current != nil && current != r.Update && !slices.Contains(remember, current) {
		remember = append(remember, current) // another client may delete the ControllerRevision
	}
	switch {
	case r.Update.stored != nil:
		stores = append(stores, r.renew(newest)...)
	case newest > 0 || isAvailable || r.isFirstNeeded():
		revision := r.Update.ControllerRevision(r.sources.Manager, after(newest))
		if cause := r.sources.Manager.Annotations[v1.AnnotationChangeCause]; cause != "" {
			revision.Annotations = map[string]string{v1.AnnotationChangeCause: cause}
		}
		stores = append(stores, Store{Revision: revision, origin: r.Update})
	}
	return append(stores, r.relabel()...), append(remember, r.Update)
}

// relabel returns the stored revisions whose labels another client has changed. Orphans are adopted first, and renew restores the labels of the
// present template's revision.
func (r Revisions) relabel() (stores []Store) {
	for _, stored := range r.sources.Stored {
		if revision := r.Of(stored); revision != nil && revision != r.Update && !revision.isLabelled(r.sources.Manager) {
			stores = append(stores, Store{Revision: revision.labelled(r.sources.Manager), Exists: true, origin: revision})
		}
	}
	return stores
}

// unstoredInUse returns the remembered revisions that are not stored although they are in use: a pod has them, or a rollback may return to them. The
// revision of the present template is not among them.
func (r Revisions) unstoredInUse() (found []*Revision) {
	for _, remembered := range r.sources.Remembered {
		revision := r.byHash[remembered.Hash]
		if revision == nil || revision.stored != nil || revision == r.Update {
			continue
		}
		hasRevision := func(pod *corev1.Pod) bool { return pod.Labels[v1.LabelRevision] == revision.Hash }
		if revision == r.Current || slices.ContainsFunc(r.sources.Pods, hasRevision) {
			found = append(found, revision)
		}
	}
	return found
}

// isFirstNeeded reports whether the present template is to be stored before its pods are available, although no revision is stored: the status
// names a good revision, pods have another revision, or pods may be updated in place.
func (r Revisions) isFirstNeeded() bool {
	hasOtherRevision := func(pod *corev1.Pod) bool { return r.HashOf(pod) != r.Update.Hash }
	return r.sources.Manager.Status.CurrentRevision != "" || r.sources.Manager.PodUpdatePolicy() != v1.RecreatePods ||
		slices.ContainsFunc(r.sources.Pods, hasOtherRevision) || slices.ContainsFunc(r.sources.OrphanPods, hasOtherRevision)
}

// after returns the number for a revision that follows the newest one. It does not increment the highest possible number, which only another client
// can have written: the result would overflow, and the API server rejects negative numbers.
func after(newest int64) int64 {
	if newest == math.MaxInt64 {
		return newest
	}
	return newest + 1
}

// ControllerRevision returns the object that stores the revision under this number.
func (r *Revision) ControllerRevision(manager *v1.PodManager, number int64) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       manager.Namespace,
			Name:            r.Name,
			Labels:          r.labels(manager),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(manager, v1.GroupVersionKind)},
		},
		Data:     runtime.RawExtension{Raw: r.data},
		Revision: number,
	}
}

// labels returns the labels of a revision's ControllerRevision.
func (r *Revision) labels(manager *v1.PodManager) map[string]string {
	return map[string]string{v1.LabelManager: manager.Name, v1.LabelRevision: r.Hash}
}

// isLabelled reports whether the revision's ControllerRevision has its labels, which another client may have changed.
func (r *Revision) isLabelled(manager *v1.PodManager) bool {
	return r.stored.Labels[v1.LabelManager] == manager.Name && r.stored.Labels[v1.LabelRevision] == r.Hash
}

// labelled returns a copy of the revision's ControllerRevision with its labels.
func (r *Revision) labelled(manager *v1.PodManager) *appsv1.ControllerRevision {
	labelled := r.stored.DeepCopy()
	for label, value := range r.labels(manager) {
		metav1.SetMetaDataLabel(&labelled.ObjectMeta, label, value)
	}
	return labelled
}

// renew returns the update of the present template's ControllerRevision. It returns nil if there is nothing to update. An old template that is in
// use again becomes the newest revision, as in a Deployment, and loses its marks. The last good one stays good, even if only its mark says that it is.
func (r Revisions) renew(newest int64) []Store {
	cause, stored := r.sources.Manager.Annotations[v1.AnnotationChangeCause], r.Update.stored
	isNewest, hasCause := stored.Revision == newest, cause == "" || stored.Annotations[v1.AnnotationChangeCause] == cause
	if isNewest && hasCause && r.Update.isLabelled(r.sources.Manager) {
		return nil
	}
	renewed := r.Update.labelled(r.sources.Manager)
	if !isNewest {
		renewed.Revision = after(newest)
		delete(renewed.Annotations, v1.AnnotationFailed)
		if r.Update != r.Current {
			delete(renewed.Annotations, v1.AnnotationGood)
		}
	}
	if !hasCause {
		metav1.SetMetaDataAnnotation(&renewed.ObjectMeta, v1.AnnotationChangeCause, cause)
	}
	return []Store{{Revision: renewed, Exists: true, origin: r.Update}}
}

// ToMark returns the ControllerRevisions whose marks change. The marks record which revisions have failed and which were good, in case the status
// is lost. hasFailed is whether the revision of the present template has failed.
func (r Revisions) ToMark(hasFailed bool, now time.Time) (marks []*appsv1.ControllerRevision) {
	for _, revision := range slices.Compact([]*Revision{r.Update, r.Current}) {
		if revision == nil || revision.stored == nil {
			continue
		}
		marked := revision.stored.DeepCopy()
		if revision == r.Current && goodSince(revision.stored).IsZero() {
			metav1.SetMetaDataAnnotation(&marked.ObjectMeta, v1.AnnotationGood, now.UTC().Format(time.RFC3339))
		}
		switch isMarked := revision.HasFailed(); {
		case isMarked && (revision == r.Current || !hasFailed) && revision == r.Update:
			delete(marked.Annotations, v1.AnnotationFailed)
		case !isMarked && hasFailed && revision == r.Update:
			metav1.SetMetaDataAnnotation(&marked.ObjectMeta, v1.AnnotationFailed, "true")
		}
		if !maps.Equal(marked.Annotations, revision.stored.Annotations) {
			marks = append(marks, marked)
		}
	}
	return marks
}

// goodSince returns since when a ControllerRevision has been marked as good, or zero if it is not.
func goodSince(stored *appsv1.ControllerRevision) time.Time {
	since, _ := time.Parse(time.RFC3339, stored.Annotations[v1.AnnotationGood])
	return since
}

// HaveSameTemplate reports whether two ControllerRevisions have the same template.
func HaveSameTemplate(stored, wanted *appsv1.ControllerRevision) bool {
	if bytes.Equal(stored.Data.Raw, wanted.Data.Raw) {
		return true
	}
	a, errA := templateIn(stored)
	b, errB := templateIn(wanted)
	return errA == nil && errB == nil && equality.Semantic.DeepEqual(a, b)
}

// BeyondLimit returns the revisions to drop. It returns the oldest ones beyond the limit that neither the spec, the status nor a pod uses.
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
		isCurrent := r.Current != nil && r.Current.stored == stored // even if it is a copy
		if revision := r.Of(stored); !isCurrent && (revision == nil || !used[revision.Hash]) {
			unused = append(unused, stored)
		}
	}
	slices.SortFunc(unused, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return unused[:max(0, len(unused)-r.sources.Manager.RevisionsKept())]
}
