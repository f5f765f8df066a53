package history

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Revisions are the templates that matter for a decision.
type Revisions struct {
	// Update is that of the present template.
	Update *Revision
	// Current is the last one that all pods were available with; nil if there was none, or it was lost.
	Current *Revision
	// others are the revisions that are stored besides, by hash.
	others  map[string]*Revision
	sources Sources
}

// Sources are where the revisions of a PodManager are found.
type Sources struct {
	Manager *v1.PodManager
	// Stored are the ControllerRevisions whose controller is Manager, Orphans those that carry its label and have no controller.
	Stored, Orphans []*appsv1.ControllerRevision
	// Remembered are the revisions that the last plan asked to be remembered.
	Remembered []*Revision
	// Pods are the pods whose controller is Manager, OrphanPods those that carry its label and have no controller.
	Pods, OrphanPods []*corev1.Pod
}

func (s Sources) all() []*appsv1.ControllerRevision { return slices.Concat(s.Stored, s.Orphans) }

// HashOf is the hash of the revision that a pod was made from. A pod that was made by hand, and adopted, has none: it is
// taken as it is, and counts for the last good revision until the template changes.
func (r Revisions) HashOf(pod *corev1.Pod) string {
	if hash := pod.Labels[v1.LabelRevision]; hash != "" {
		return hash
	}
	return cmp.Or(r.Current, r.Update).Hash
}

// WithHash is the revision with this hash; nil if it is not known.
func (r Revisions) WithHash(hash string) *Revision {
	if hash == r.Update.Hash {
		return r.Update
	}
	return r.others[hash]
}

// Find finds the revisions, stored or not.
func Find(s Sources) Revisions {
	revisions := Revisions{others: make(map[string]*Revision, len(s.Stored)), sources: s}
	for _, stored := range s.all() {
		revision := &Revision{Name: stored.Name, Hash: stored.Labels[v1.LabelRevision], stored: stored}
		revisions.others[revision.Hash] = revision
		if stored.Name == s.Manager.Status.CurrentRevision && revision.Template() != nil {
			revisions.Current = revision
		}
	}
	update := s.encoded()
	if found := find(revisions.others, update.template, update.data, hash(update.data, s.Manager.Status.CollisionCount)); found != nil {
		found.template, found.data = update.template, update.data
		revisions.Update = found
	} else {
		revisions.Update = s.name(update, revisions.others)
	}
	for _, remembered := range s.Remembered {
		if remembered.Hash == revisions.Update.Hash || revisions.others[remembered.Hash] != nil {
			continue
		}
		known := remembered
		if known.stored != nil { // somebody has deleted it
			known = &Revision{Name: known.Name, Hash: known.Hash, template: known.Template(), data: known.stored.Data.Raw}
		}
		revisions.others[known.Hash] = known
		if known.Name == s.Manager.Status.CurrentRevision && known.Template() != nil {
			revisions.Current = known
		}
	}
	return revisions
}

// encoded is the present template with its encoding, which is worked out once.
func (s Sources) encoded() *Revision {
	template := Template(&s.Manager.Spec)
	for _, known := range s.Remembered {
		if known.data != nil && equality.Semantic.DeepEqual(known.template, template) {
			return &Revision{template: template, data: known.data}
		}
	}
	return &Revision{template: template, data: Encode(template)}
}

// name gives a revision that is not stored its hash and its name. The hash is another one if it stands for another template
// already; pods that carry a hash from before the name was found to be in use keep it.
func (s Sources) name(revision *Revision, stored map[string]*Revision) *Revision {
	collisions := s.Manager.Status.CollisionCount
	revision.Hash = hash(revision.data, collisions)
	revision.Name = s.Manager.Name + "-" + revision.Hash
	for older := range collisions {
		hash := hash(revision.data, older)
		hasIt := func(pod *corev1.Pod) bool { return pod.Labels[v1.LabelRevision] == hash }
		if stored[hash] == nil && slices.ContainsFunc(s.Pods, hasIt) {
			revision.Hash = hash
		}
	}
	for more := collisions + 1; stored[revision.Hash] != nil; more++ {
		revision.Hash = hash(revision.data, more)
		revision.Name = s.Manager.Name + "-" + revision.Hash
	}
	return revision
}

// find finds the revision of a template. The hash usually tells; if not, as after a collision, the content does.
func find(stored map[string]*Revision, template *corev1.PodTemplateSpec, data []byte, hash string) *Revision {
	if likely := stored[hash]; likely != nil && same(likely, template, data) {
		return likely
	}
	var found *Revision
	for _, revision := range stored {
		if same(revision, template, data) && (found == nil || revision.Number() > found.Number()) {
			found = revision
		}
	}
	return found
}

func same(revision *Revision, template *corev1.PodTemplateSpec, data []byte) bool {
	return bytes.Equal(revision.stored.Data.Raw, data) || equality.Semantic.DeepEqual(revision.Template(), template)
}

// Count is how many pods are of the revision with this name.
func (r Revisions) Count(active []*corev1.Pod, name string) (count int32) {
	for _, revision := range append(slices.Collect(maps.Values(r.others)), r.Update) {
		if revision.Name != name {
			continue
		}
		for _, pod := range active {
			if r.HashOf(pod) == revision.Hash {
				count++
			}
		}
		break
	}
	return count
}
