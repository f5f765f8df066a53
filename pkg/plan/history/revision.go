package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/bounds"
)

// Revision is a pod template with a name and a hash. Pods carry the hash as a label.
type Revision struct {
	Name string
	Hash string
	// stored is the ControllerRevision; nil for a revision that is not stored yet.
	stored *appsv1.ControllerRevision
	// lost is the ControllerRevision if another client has deleted it, nil otherwise.
	lost     *appsv1.ControllerRevision
	template *corev1.PodTemplateSpec
	// data is the encoded template.
	data []byte
}

// IsStored reports whether the revision is stored on the API server, so that it survives a restart of the controller.
func (r *Revision) IsStored() bool { return r.stored != nil }

// Stored records that the revision was stored.
func (r *Revision) Stored(stored *appsv1.ControllerRevision) { r.stored = stored }

// HasFailed reports whether the revision is marked as failed.
func (r *Revision) HasFailed() bool {
	return r.stored != nil && r.stored.Annotations[v1.AnnotationFailed] != ""
}

// Number orders revisions by age. A revision that is not stored counts as the newest.
func (r *Revision) Number() int64 {
	if r.stored == nil {
		return math.MaxInt64
	}
	return r.stored.Revision
}

// Template returns the revision's pod template, or nil if the stored data is not a pod template.
func (r *Revision) Template() *corev1.PodTemplateSpec {
	if r.template == nil && r.stored != nil {
		r.template, _ = templateIn(r.stored)
	}
	return r.template
}

func templateIn(stored *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	template := &corev1.PodTemplateSpec{}
	if err := bounds.Unmarshal(stored.Data.Raw, template); err != nil {
		return nil, err
	}
	return template, nil
}

// Template returns the pod template that the spec asks for. Callers must not modify it. The shorthand spec.image becomes a full template, and
// restartAt becomes an annotation of the template, so that a requested restart is a new revision.
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
	// The spec belongs to the informer's cache: copy what is modified here, and share the rest.
	restarted := *template
	restarted.Annotations = maps.Clone(template.Annotations)
	metav1.SetMetaDataAnnotation(&restarted.ObjectMeta, v1.AnnotationRestartedAt, spec.RestartAt.UTC().Format(time.RFC3339))
	return &restarted
}

// Encode encodes a template with sorted keys. The API server sorts the keys when a client patches the ControllerRevision, as the garbage collector
// does to orphan it, and rejects the patch if that changes a single byte of the immutable data.
func Encode(template *corev1.PodTemplateSpec) []byte {
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
		// A PodTemplateSpec that was decoded from JSON can be encoded again.
		panic(fmt.Sprintf("encoding a pod template: %v", err))
	}
	return data
}

// hash returns a short hash of an encoded template. Each counted collision changes the hash.
func hash(data []byte, collisions int32) string {
	hash := fnv.New32a()
	_, _ = hash.Write(data) // hash.Hash never returns an error
	if collisions > 0 {
		_, _ = fmt.Fprint(hash, collisions)
	}
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}
