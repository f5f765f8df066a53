package history

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"

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

// Of returns the revision that a ControllerRevision stores, or nil if it is only a copy of another one.
func (r Revisions) Of(stored *appsv1.ControllerRevision) *Revision {
	if revision := r.byHash[r.sources.hashOf(stored)]; revision != nil && revision.stored == stored {
		return revision
	}
	return nil
}

// Find finds the revisions, stored or not.
func Find(s Sources) Revisions {
	revisions := Revisions{byHash: make(map[string]*Revision, len(s.Stored)), sources: s}
	for _, stored := range s.all() {
		revision := &Revision{Name: stored.Name, Hash: s.hashOf(stored), stored: stored}
		if other := revisions.byHash[revision.Hash]; other == nil || s.precedes(revision, other) {
			revisions.byHash[revision.Hash] = revision
		}
		if stored.Name == s.Manager.Status.CurrentRevision && revision.Template() != nil {
			revisions.Current = revision
		}
	}
	if s.Manager.Status.CurrentRevision == "" {
		revisions.Current = revisions.lastGood()
	}
	update := s.encoded()
	if found := s.find(revisions.byHash, update.template, update.data, hash(update.data, s.collisions())); found != nil {
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

// hashOf returns the hash of a stored revision, which is never empty. It is taken from the name: the label may change, the name cannot. The label
// counts only in two cases: the template had this hash before a collision, so that pods may carry it, see name; or the revision is an orphan of a
// PodManager of another name.
func (s Sources) hashOf(stored *appsv1.ControllerRevision) string {
	label := stored.Labels[v1.LabelRevision]
	inName, isNamed := strings.CutPrefix(stored.Name, s.Manager.Name+"-")
	isNamed = isNamed && inName != "" && len(validation.IsValidLabelValue(inName)) == 0
	switch {
	case isNamed && (label == inName || !s.wasHash(label, stored.Data.Raw)):
		return inName
	case label != "":
		return label
	default:
		return hash(stored.Data.Raw, 0)
	}
}

// wasHash reports whether an encoded template had this hash before the last collision. If the status is lost, one collision is assumed.
func (s Sources) wasHash(candidate string, data []byte) bool {
	for older := range max(1, s.collisions()) {
		if candidate == hash(data, older) {
			return true
		}
	}
	return false
}

// precedes reports which of two stored revisions counts if they have the same hash or the same template: the one with the name that the controller
// gives to this hash, or else the older one. The other one is a copy that another client has made.
func (s Sources) precedes(revision, other *Revision) bool {
	isNamed := func(r *Revision) bool { return r.Name == s.Manager.Name+"-"+r.Hash }
	if isNamed(revision) != isNamed(other) {
		return isNamed(revision)
	}
	a, b := revision.stored, other.stored
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) < 0
}

// find finds the stored revision of a template by its hash or, if that fails, as after a collision, by its content.
func (s Sources) find(stored map[string]*Revision, template *corev1.PodTemplateSpec, data []byte, hash string) *Revision {
	if likely := stored[hash]; likely != nil && hasTemplate(likely, template, data) {
		return likely
	}
	var found *Revision
	for _, revision := range stored {
		if hasTemplate(revision, template, data) && (found == nil || revision.Number() > found.Number() ||
			revision.Number() == found.Number() && s.precedes(revision, found)) {
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
