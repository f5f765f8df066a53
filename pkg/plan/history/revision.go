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

// IsStored tells whether the revision has outlived a controller that dies now.
func (r *Revision) IsStored() bool { return r.stored != nil }

// Stored notes that the revision was stored.
func (r *Revision) Stored(stored *appsv1.ControllerRevision) { r.stored = stored }

// Number orders revisions by age. One that is not stored is the newest.
func (r *Revision) Number() int64 {
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

// Encode writes a template with its keys sorted. The API server writes it so when somebody patches the revision, as the
// garbage collector does when it orphans it; and it refuses a patch after which the data are not the same to the byte.
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
		// A PodTemplateSpec that came from JSON goes back into it.
		panic(fmt.Sprintf("encoding a pod template: %v", err))
	}
	return data
}

// hash is a short hash of a template. A collision makes it another one.
func hash(data []byte, collisions int32) string {
	hash := fnv.New32a()
	_, _ = hash.Write(data) // never fails, says hash.Hash
	if collisions > 0 {
		_, _ = fmt.Fprint(hash, collisions)
	}
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}
