package plan

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Template is the pod template that the spec asks for; the short form is written out.
func Template(spec *v1.PodManagerSpec) *corev1.PodTemplateSpec {
	if spec.Template != nil {
		return spec.Template
	}
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: v1.ShorthandContainer, Image: spec.Image}},
	}}
}

// Revision is a short hash of the template. Pods carry it as a label, so that those of an older template can be told.
func Revision(template *corev1.PodTemplateSpec) string {
	data, err := json.Marshal(template)
	if err != nil {
		// A PodTemplateSpec that came from JSON goes back into it.
		panic(fmt.Sprintf("encoding a pod template: %v", err))
	}
	hash := fnv.New64a()
	_, _ = hash.Write(data) // never fails, says hash.Hash
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum64()))
}

// NewPod is the pod to create, as it is sent to the API server.
func NewPod(manager *v1.PodManager, creation Creation) *corev1.Pod {
	template := Template(&manager.Spec).DeepCopy()
	owner := metav1.NewControllerRef(manager, v1.GroupVersionKind)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       manager.Namespace,
			Name:            PodName(manager.Name, creation.Index),
			Labels:          podLabels(manager, template.Labels, Revision(template), creation.Index),
			Annotations:     template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Spec: template.Spec,
	}
	if creation.FailuresBefore > 0 {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1.AnnotationFailuresBefore, strconv.Itoa(creation.FailuresBefore))
	}
	return pod
}
