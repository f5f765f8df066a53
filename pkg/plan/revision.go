package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Revision is a pod template under a name. Pods carry its hash as a label.
type Revision struct {
	Name string
	Hash string
	// stored is nil for a revision that is not stored yet.
	stored   *appsv1.ControllerRevision
	template *corev1.PodTemplateSpec
	// data is the template encoded.
	data []byte
}

// Stored notes that the revision was stored.
func (r *Revision) Stored(stored *appsv1.ControllerRevision) { r.stored = stored }

// number orders revisions by age. One that is not stored is the newest.
func (r *Revision) number() int64 {
	if r.stored == nil {
		return math.MaxInt64
	}
	return r.stored.Revision
}

// Template is the revision's pod template; nil if what is stored is none.
func (r *Revision) Template() *corev1.PodTemplateSpec {
	if r.template == nil && r.stored != nil {
		r.template, _ = templateIn(r.stored)
	}
	return r.template
}

func templateIn(stored *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	template := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal(stored.Data.Raw, template); err != nil {
		return nil, err
	}
	return template, nil
}

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

// hashOf is the hash of the revision that a pod was made from. A pod that was made by hand, and adopted, has none: it is
// taken as it is, and counts for the last good revision until the template changes.
func (r Revisions) hashOf(pod *corev1.Pod) string {
	if hash := pod.Labels[v1.LabelRevision]; hash != "" {
		return hash
	}
	return cmp.Or(r.Current, r.Update).Hash
}

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

// findRevisions finds the revisions, stored or not.
func findRevisions(s Sources) Revisions {
	revisions := Revisions{others: make(map[string]*Revision, len(s.Stored)), sources: s}
	for _, stored := range s.all() {
		revision := &Revision{Name: stored.Name, Hash: stored.Labels[v1.LabelRevision], stored: stored}
		revisions.others[revision.Hash] = revision
		if stored.Name == s.Manager.Status.CurrentRevision && revision.Template() != nil {
			revisions.Current = revision
		}
	}
	update := s.encoded()
	if found := find(revisions.others, update.template, update.data, hashOf(update.data, s.Manager.Status.CollisionCount)); found != nil {
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
	return &Revision{template: template, data: encode(template)}
}

// name gives a revision that is not stored its hash and its name. The hash is another one if it stands for another template
// already; pods that carry a hash from before the name was found to be in use keep it.
func (s Sources) name(revision *Revision, stored map[string]*Revision) *Revision {
	collisions := s.Manager.Status.CollisionCount
	revision.Hash = hashOf(revision.data, collisions)
	revision.Name = s.Manager.Name + "-" + revision.Hash
	for older := range collisions {
		hash := hashOf(revision.data, older)
		hasIt := func(pod *corev1.Pod) bool { return pod.Labels[v1.LabelRevision] == hash }
		if stored[hash] == nil && slices.ContainsFunc(s.Pods, hasIt) {
			revision.Hash = hash
		}
	}
	for more := collisions + 1; stored[revision.Hash] != nil; more++ {
		revision.Hash = hashOf(revision.data, more)
		revision.Name = s.Manager.Name + "-" + revision.Hash
	}
	return revision
}

// toStore is what has to be stored before the plan is carried out, and what is to be remembered because it is not. A revision is
// stored when it first matters: when it is good enough to return to, when the template has changed, so that there are two to tell
// apart, or when pods are to be changed in place, which takes what they were made from. Elsewhere it is not on the way of a new
// object's pods.
func (r Revisions) toStore(isGood bool) (stores []Store, remember []*Revision) {
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
			stores = append(stores, Store{Revision: known.object(s.Manager, newest), of: known})
			remember = append(remember, known)
		}
	}
	if current := r.Current; current != nil && current != update && !slices.Contains(remember, current) {
		remember = append(remember, current) // somebody may delete it
	}
	isOther := func(pod *corev1.Pod) bool { return r.hashOf(pod) != update.Hash }
	switch {
	case update.stored != nil:
		stores = append(stores, renewed(s.Manager, update, newest)...)
	case newest > 0 || s.Manager.Status.CurrentRevision != "" || isGood || s.Manager.PodUpdatePolicy() != v1.RecreatePods ||
		slices.ContainsFunc(s.Pods, isOther) || slices.ContainsFunc(s.OrphanPods, isOther):
		revision := update.object(s.Manager, newest+1)
		if cause := s.Manager.Annotations[v1.AnnotationChangeCause]; cause != "" {
			revision.Annotations = map[string]string{v1.AnnotationChangeCause: cause}
		}
		stores = append(stores, Store{Revision: revision, of: update})
	}
	return stores, append(remember, update)
}

// find finds the revision of a template. The hash usually tells; if not, as after a collision, the content does.
func find(stored map[string]*Revision, template *corev1.PodTemplateSpec, data []byte, hash string) *Revision {
	if likely := stored[hash]; likely != nil && same(likely, template, data) {
		return likely
	}
	var found *Revision
	for _, revision := range stored {
		if same(revision, template, data) && (found == nil || revision.number() > found.number()) {
			found = revision
		}
	}
	return found
}

func same(revision *Revision, template *corev1.PodTemplateSpec, data []byte) bool {
	return bytes.Equal(revision.stored.Data.Raw, data) || equality.Semantic.DeepEqual(revision.Template(), template)
}

// object is the revision as it is stored under this number.
func (r *Revision) object(manager *v1.PodManager, number int64) *appsv1.ControllerRevision {
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

// renewed is the revision of the present template as it should be stored; nothing if it is. An old template that was put
// back becomes the newest revision again.
func renewed(manager *v1.PodManager, revision *Revision, newest int64) []Store {
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

// beyondLimit are the revisions to drop: the oldest of those that neither a pod nor the status refers to.
func (r Revisions) beyondLimit() []*appsv1.ControllerRevision {
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

// Template is the pod template that the spec asks for, to be read only: the short form is written out, and the time of a
// restart is in it, so that whatever compares or keeps templates knows of it.
func Template(spec *v1.PodManagerSpec) *corev1.PodTemplateSpec {
	template := spec.Template
	if template == nil {
		template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: v1.ShorthandContainer, Image: spec.Image}},
		}}
	}
	if spec.RestartAt == nil {
		return template
	}
	// The spec is the cache's: only what is changed is copied, and the rest shared.
	restarted := *template
	restarted.Annotations = maps.Clone(template.Annotations)
	metav1.SetMetaDataAnnotation(&restarted.ObjectMeta, v1.AnnotationRestartedAt, spec.RestartAt.UTC().Format(time.RFC3339))
	return &restarted
}

// encode writes a template with its keys sorted. The API server writes it so when somebody patches the revision, as the
// garbage collector does when it orphans it; and it refuses a patch after which the data are not the same to the byte.
func encode(template *corev1.PodTemplateSpec) []byte {
	data, err := json.Marshal(template)
	if err == nil {
		var sorted any
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if err = decoder.Decode(&sorted); err == nil {
			data, err = json.Marshal(sorted)
		}
	}
	if err != nil {
		// A PodTemplateSpec that came from JSON goes back into it.
		panic(fmt.Sprintf("encoding a pod template: %v", err))
	}
	return data
}

// hashOf is a short hash of a template. A collision makes it another one.
func hashOf(data []byte, collisions int32) string {
	hash := fnv.New32a()
	_, _ = hash.Write(data) // never fails, says hash.Hash
	if collisions > 0 {
		_, _ = fmt.Fprint(hash, collisions)
	}
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}
