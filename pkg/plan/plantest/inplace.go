package plantest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
)

// Open gives a pod our readiness gate, which has been open for an hour.
func Open(p *corev1.Pod) { Gated(corev1.ConditionTrue, time.Hour)(p) }

// Resizing gives a pod a condition about its resize.
func Resizing(kind corev1.PodConditionType, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: "too big",
		})
	}
}

// Runs sets the status of the container app as the kubelet reports it.
func Runs(image, id string, restarts int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", Image: image, ImageID: id, RestartCount: restarts}}
	}
}

// TemplateWith returns a template with the containers app and side.
func TemplateWith(change ...func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "app", Image: "app:1", Resources: Amounts("cpu", "1", "")},
		{Name: "side", Image: "side:1"},
	}}}
	template.Labels, template.Annotations = map[string]string{"tier": "front"}, map[string]string{"note": "x"}
	for _, c := range change {
		c(template)
	}
	return template
}

// Amounts returns a request and a limit of one resource. An empty text leaves it out.
func Amounts(name corev1.ResourceName, request, limit string) corev1.ResourceRequirements {
	var all corev1.ResourceRequirements
	if request != "" {
		all.Requests = corev1.ResourceList{name: resource.MustParse(request)}
	}
	if limit != "" {
		all.Limits = corev1.ResourceList{name: resource.MustParse(limit)}
	}
	return all
}

// App changes the container app of a template.
func App(change func(*corev1.Container)) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { change(&t.Spec.Containers[0]) }
}

// Needs sets the resources of the container app.
func Needs(resources corev1.ResourceRequirements) func(*corev1.PodTemplateSpec) {
	return App(func(c *corev1.Container) { c.Resources = resources })
}

// Policies sets the resize policies of the container app for CPU and for memory.
func Policies(cpu, memory corev1.ResourceResizeRestartPolicy) func(*corev1.PodTemplateSpec) {
	return App(func(c *corev1.Container) {
		c.ResizePolicy = []corev1.ContainerResizePolicy{
			{ResourceName: corev1.ResourceCPU, RestartPolicy: cpu}, {ResourceName: corev1.ResourceMemory, RestartPolicy: memory},
		}
	})
}

// Sized sets the requests for CPU and memory of the container app, and a limit for CPU unless it is empty.
func Sized(cpu, memory, limit string) func(*corev1.PodTemplateSpec) {
	return Needs(func() corev1.ResourceRequirements {
		all := Amounts(corev1.ResourceCPU, cpu, limit)
		all.Requests[corev1.ResourceMemory] = resource.MustParse(memory)
		return all
	}())
}

// RevisionWith returns a revision with this hash and template.
func RevisionWith(hash string, template *corev1.PodTemplateSpec) *history.Revision {
	m := Manager(0)
	m.Spec.Template = template
	revision := history.Find(history.Sources{Manager: m}).Update
	revision.Hash = hash
	return revision
}

// Closed gives a pod our readiness gate, which has been closed for a minute.
func Closed(p *corev1.Pod) { NotReady(p); Gated(corev1.ConditionFalse, time.Minute)(p) }

// RefusedChange records that the API server has refused an update of the pod in place.
func RefusedChange(p *corev1.Pod) {
	note := `{"revision":"` + RevisionFor(Next(0)).Hash + `","refused":"no such thing"}`
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1.AnnotationInPlace, note)
}
