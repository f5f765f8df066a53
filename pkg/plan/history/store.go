package history

import (
	"bytes"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Store is a revision to be stored.
type Store struct {
	Revision *appsv1.ControllerRevision
	// Exists tells that it is to be updated: an old template was put back, or it has another cause.
	Exists bool
	// of is the revision that is stored by this.
	of *Revision
}

// Done notes that it was stored.
func (s Store) Done(stored *appsv1.ControllerRevision) { s.of.Stored(stored) }

// ToStore is what has to be stored before the plan is carried out, and what is to be remembered because it is not. A revision is
// stored when it first matters: when it is good enough to return to, when the template has changed, so that there are two to tell
// apart, or when pods are to be updated in place, which takes what they were made from. Elsewhere it is not on the way of a new
// object's pods.
func (r Revisions) ToStore(isGood bool) (stores []Store, remember []*Revision) {
	s, newest := r.sources, int64(0)
	for _, stored := range s.all() {
		newest = max(newest, stored.Revision)
	}
	update := r.Update
	for _, remembered := range s.Remembered {
		known := r.others[remembered.Hash]
		if known == nil || known.stored != nil || known == update {
			continue
		}
		isOfIt := func(pod *corev1.Pod) bool { return pod.Labels[v1.LabelRevision] == known.Hash }
		if known == r.Current || slices.ContainsFunc(s.Pods, isOfIt) {
			newest++
			stores = append(stores, Store{Revision: known.ControllerRevision(s.Manager, newest), of: known})
			remember = append(remember, known)
		}
	}
	if current := r.Current; current != nil && current != update && !slices.Contains(remember, current) {
		remember = append(remember, current) // somebody may delete it
	}
	isOther := func(pod *corev1.Pod) bool { return r.HashOf(pod) != update.Hash }
	switch {
	case update.stored != nil:
		stores = append(stores, renew(s.Manager, update, newest)...)
	case newest > 0 || s.Manager.Status.CurrentRevision != "" || isGood || s.Manager.PodUpdatePolicy() != v1.RecreatePods ||
		slices.ContainsFunc(s.Pods, isOther) || slices.ContainsFunc(s.OrphanPods, isOther):
		revision := update.ControllerRevision(s.Manager, newest+1)
		if cause := s.Manager.Annotations[v1.AnnotationChangeCause]; cause != "" {
			revision.Annotations = map[string]string{v1.AnnotationChangeCause: cause}
		}
		stores = append(stores, Store{Revision: revision, of: update})
	}
	return stores, append(remember, update)
}

// ControllerRevision is the revision as it is stored under this number.
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

// renew is the revision of the present template as it should be stored; nothing if it is. An old template that was put
// back becomes the newest revision again.
func renew(manager *v1.PodManager, revision *Revision, newest int64) []Store {
	cause := manager.Annotations[v1.AnnotationChangeCause]
	stored := revision.stored
	isNewest, hasCause := stored.Revision == newest, cause == "" || stored.Annotations[v1.AnnotationChangeCause] == cause
	if isNewest && hasCause {
		return nil
	}
	renewed := stored.DeepCopy()
	if !isNewest {
		renewed.Revision = newest + 1
	}
	if !hasCause {
		metav1.SetMetaDataAnnotation(&renewed.ObjectMeta, v1.AnnotationChangeCause, cause)
	}
	return []Store{{Revision: renewed, Exists: true, of: revision}}
}

// IsSame tells whether a stored revision has the template of the one that was to be stored.
func IsSame(stored, wanted *appsv1.ControllerRevision) bool {
	if bytes.Equal(stored.Data.Raw, wanted.Data.Raw) {
		return true
	}
	a, errA := templateIn(stored)
	b, errB := templateIn(wanted)
	return errA == nil && errB == nil && equality.Semantic.DeepEqual(a, b)
}

// BeyondLimit are the revisions to drop: the oldest of those that neither a pod nor the status refers to.
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
	slices.SortFunc(unused, func(a, b *appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return unused[:max(0, len(unused)-r.sources.Manager.RevisionsKept())]
}
