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
	// Update is the revision of the present template.
	Update *Revision
	// Current is the last good revision, according to the status or, if the status is lost, to the marks. It is nil if no revision has been good yet,
	// or if another client has deleted or overwritten the last good one.
	Current *Revision
	// byHash has the stored and the remembered revisions. Update may be missing from it.
	byHash  map[string]*Revision
	sources Sources
}

// Sources has the objects in which the revisions of a PodManager are found.
type Sources struct {
	Manager *v1.PodManager
	// Stored are the ControllerRevisions whose controller is Manager. Orphans are ControllerRevisions that carry its label and have no controller.
	Stored, Orphans []*appsv1.ControllerRevision
	// Remembered are the revisions that the last plan told the controller to remember.
	Remembered []*Revision
	// Pods are the pods whose controller is Manager. OrphanPods are pods that carry its label and have no controller.
	Pods, OrphanPods []*corev1.Pod
}

func (s Sources) all() []*appsv1.ControllerRevision { return slices.Concat(s.Stored, s.Orphans) }

// HashOf returns the hash of the pod's revision. An adopted pod that the controller did not create has no revision. It counts as a pod of the last
// good revision, so that it is replaced only when the template changes.
func (r Revisions) HashOf(pod *corev1.Pod) string {
	if hash := pod.Labels[v1.LabelRevision]; hash != "" {
		return hash
	}
	return cmp.Or(r.Current, r.Update).Hash
}

// IsMarkedFailed reports whether the present template is marked as failed. The mark does not count if there is a newer revision: then the user has
// returned to the template, which is about to lose the mark.
func (r Revisions) IsMarkedFailed() bool {
	isNewer := func(other *appsv1.ControllerRevision) bool { return other.Revision > r.Update.Number() }
	return r.Update.HasFailed() && !slices.ContainsFunc(r.sources.all(), isNewer)
}

// WithHash returns the revision with this hash, or nil if it is unknown.
func (r Revisions) WithHash(hash string) *Revision {
	if hash == r.Update.Hash {
		return r.Update
	}
	return r.byHash[hash]
}

// Find finds the revisions, stored or not.
func Find(s Sources) Revisions {
	revisions := Revisions{byHash: make(map[string]*Revision, len(s.Stored)), sources: s}
	for _, stored := range s.all() {
		revision := &Revision{Name: stored.Name, Hash: stored.Labels[v1.LabelRevision], stored: stored}
		revisions.byHash[revision.Hash] = revision
		if stored.Name == s.Manager.Status.CurrentRevision && revision.Template() != nil {
			revisions.Current = revision
		}
	}
	if s.Manager.Status.CurrentRevision == "" {
		revisions.Current = revisions.lastGood()
	}
	update := s.encoded()
	if found := find(revisions.byHash, update.template, update.data, hash(update.data, s.collisions())); found != nil {
		found.template, found.data = update.template, update.data
		revisions.Update = found
	} else {
		revisions.Update = s.name(update, revisions.byHash)
	}
	if revisions.Update.Name == s.Manager.Status.CurrentRevision { // even if another client has deleted its ControllerRevision
		revisions.Current = revisions.Update
	}
	for _, remembered := range s.Remembered {
		if remembered.Hash == revisions.Update.Hash || revisions.byHash[remembered.Hash] != nil {
			continue
		}
		revision := remembered
		if revision.stored != nil { // another client has deleted the ControllerRevision
			revision = &Revision{Name: revision.Name, Hash: revision.Hash, template: revision.Template(), data: revision.stored.Data.Raw, lost: revision.stored}
		}
		revisions.byHash[revision.Hash] = revision
		if revision.Name == s.Manager.Status.CurrentRevision && revision.Template() != nil {
			revisions.Current = revision
		}
	}
	return revisions
}

// lastGood returns the stored revision that was marked as good last, or nil if none is.
func (r Revisions) lastGood() (last *Revision) {
	for _, revision := range r.byHash {
		since := goodSince(revision.stored)
		if !since.IsZero() && revision.Template() != nil && (last == nil || since.After(goodSince(last.stored)) ||
			since.Equal(goodSince(last.stored)) && revision.Number() > last.Number()) {
			last = revision
		}
	}
	return last
}

// encoded returns the present template with its encoding. The encoding is reused while the template stays the same.
func (s Sources) encoded() *Revision {
	template := Template(&s.Manager.Spec)
	for _, remembered := range s.Remembered {
		if remembered.data != nil && equality.Semantic.DeepEqual(remembered.template, template) {
			return &Revision{template: template, data: remembered.data}
		}
	}
	return &Revision{template: template, data: Encode(template)}
}

// name sets the hash and the name of a revision that is not stored. It avoids the hashes of stored revisions, which have other templates. The hash
// depends on status.collisionCount. If pods already carry the hash that this template had with a lower count, the revision keeps that hash.
func (s Sources) name(revision *Revision, stored map[string]*Revision) *Revision {
	collisions := s.collisions()
	revision.Hash = hash(revision.data, collisions)
	revision.Name = s.Manager.Name + "-" + revision.Hash
	for older := range collisions {
		olderHash := hash(revision.data, older)
		carriesHash := func(pod *corev1.Pod) bool { return pod.Labels[v1.LabelRevision] == olderHash }
		if stored[olderHash] == nil && slices.ContainsFunc(s.Pods, carriesHash) {
			revision.Hash = olderHash
		}
	}
	for count := collisions + 1; stored[revision.Hash] != nil; count++ {
		revision.Hash = hash(revision.data, count)
		revision.Name = s.Manager.Name + "-" + revision.Hash
	}
	return revision
}

// maxCollisions limits how many hashes of a template are tried. Collisions are rare, so the controller never writes a higher count.
const maxCollisions = 1 << 10

// collisions returns status.collisionCount modulo maxCollisions. Consecutive counts stay different, so that each collision changes the hash.
func (s Sources) collisions() int32 {
	return int32(uint32(s.Manager.Status.CollisionCount) % maxCollisions)
}

// find finds the stored revision of a template by its hash or, if that fails, as after a collision, by its content.
func find(stored map[string]*Revision, template *corev1.PodTemplateSpec, data []byte, hash string) *Revision {
	if likely := stored[hash]; likely != nil && hasTemplate(likely, template, data) {
		return likely
	}
	var found *Revision
	for _, revision := range stored {
		if hasTemplate(revision, template, data) && (found == nil || revision.Number() > found.Number()) {
			found = revision
		}
	}
	return found
}

func hasTemplate(revision *Revision, template *corev1.PodTemplateSpec, data []byte) bool {
	return bytes.Equal(revision.stored.Data.Raw, data) || equality.Semantic.DeepEqual(revision.Template(), template)
}

// Count returns how many of the active pods have the revision with this name.
func (r Revisions) Count(active []*corev1.Pod, name string) (count int32) {
	for _, revision := range append(slices.Collect(maps.Values(r.byHash)), r.Update) {
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
