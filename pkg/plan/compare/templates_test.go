package compare_test

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/compare"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// podNeeds sets the CPU request and limit of the pod itself. An empty text leaves the amount out.
func podNeeds(request, limit string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		all := Amounts(corev1.ResourceCPU, request, limit)
		t.Spec.Resources = &all
	}
}

// podNeedsAll is podNeeds with a memory request that equals the memory limit.
func podNeedsAll(request, limit string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		podNeeds(request, limit)(t)
		t.Spec.Resources.Requests["memory"], t.Spec.Resources.Limits["memory"] = resource.MustParse("1Gi"), resource.MustParse("1Gi")
	}
}

func TestTemplates(t *testing.T) {
	images := func(app, side string) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image, t.Spec.Containers[1].Image = app, side }
	}
	restart := func(t *corev1.PodTemplateSpec) { t.Annotations[v1.AnnotationRestartedAt] = "now" }
	claims := Amounts("cpu", "2", "")
	claims.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	both := Amounts("cpu", "1", "1")
	both.Requests["memory"], both.Limits["memory"] = resource.MustParse("1Gi"), resource.MustParse("1Gi")
	alone := func(resources corev1.ResourceRequirements) *corev1.PodTemplateSpec {
		return TemplateWith(Needs(resources), func(t *corev1.PodTemplateSpec) { t.Spec.Containers = t.Spec.Containers[:1] })
	}
	unequal := *both.DeepCopy()
	unequal.Limits["memory"] = resource.MustParse("2Gi")

	tests := map[string]struct {
		from, to *corev1.PodTemplateSpec
		// images and resources name the containers whose image or resources differ.
		images, resources []string
		why               string
	}{
		"nothing":        {to: TemplateWith()},
		"CPU of the pod": {from: TemplateWith(podNeeds("1", "2")), to: TemplateWith(podNeeds("2", "2")), resources: []string{OfPod}},
		"CPU of the pod and of a container": {
			from: TemplateWith(podNeeds("1", "2")), to: TemplateWith(podNeeds("2", "2"), Needs(Amounts("cpu", "2", ""))), resources: []string{OfPod, "app"},
		},
		"a limit of the pod without a request":     {from: TemplateWith(podNeeds("", "1")), to: TemplateWith(podNeeds("", "2")), why: "template.spec.resources.limits.cpu differs"},
		"a limit of the pod that was not there":    {from: TemplateWith(podNeeds("1", "")), to: TemplateWith(podNeeds("1", "2")), why: "template.spec.resources.limits differs"},
		"resources of the pod that were not there": {to: TemplateWith(podNeeds("1", "")), why: "template.spec.resources differs"},
		"another QoS class by the pod's resources": {
			from: TemplateWith(podNeedsAll("1", "2")), to: TemplateWith(podNeedsAll("2", "2")), why: "the QoS class would change from Burstable to Guaranteed",
		},
		"labels and annotations": {to: TemplateWith(func(t *corev1.PodTemplateSpec) { t.Labels, t.Annotations = nil, map[string]string{"a": "b"} })},
		"an image":               {to: TemplateWith(images("app:2", "side:1")), images: []string{"app"}},
		"two images":             {to: TemplateWith(images("app:2", "side:2")), images: []string{"app", "side"}},
		"a label in the environment": {
			from: TemplateWith(reads("metadata.labels['tier']")), to: TemplateWith(reads("metadata.labels['tier']"), labelled("tier", "back")),
			why: "container app reads the label tier into its environment, which only a restart updates",
		},
		"another label than the one in the environment": {
			from: TemplateWith(reads("metadata.labels['tier']")), to: TemplateWith(reads("metadata.labels['tier']"), labelled("team", "shop")),
		},
		"a label in the environment, and another image": {
			from:   TemplateWith(reads("metadata.labels['tier']")),
			to:     TemplateWith(reads("metadata.labels['tier']"), labelled("tier", "back"), images("app:2", "side:1")),
			images: []string{"app"},
		},
		"an annotation in the environment": {
			from: TemplateWith(reads("metadata.annotations['a']")),
			to:   TemplateWith(reads("metadata.annotations['a']"), func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"a": "b"} }),
			why:  "container app reads the annotation a into its environment, which only a restart updates",
		},
		"a checksum": {
			to:  TemplateWith(func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"checksum/config": "1"} }),
			why: "the annotation checksum/config has changed, which asks for a restart",
		},
		"a restart":              {to: TemplateWith(restart), why: "a restart was asked for"},
		"a restart and an image": {to: TemplateWith(restart, images("app:2", "side:1")), why: "a restart was asked for"},
		"a restart was asked for before": {
			from: TemplateWith(restart), to: TemplateWith(restart, images("app:2", "side:1")), images: []string{"app"},
		},
		"more CPU":                       {to: TemplateWith(Needs(Amounts("cpu", "2", ""))), resources: []string{"app"}},
		"the same amount in other units": {to: TemplateWith(Needs(Amounts("cpu", "1000m", "")))},
		"CPU and an image":               {to: TemplateWith(Needs(Amounts("cpu", "2", "")), images("app:2", "side:1")), images: []string{"app"}, resources: []string{"app"}},
		"a new limit":                    {to: TemplateWith(Needs(Amounts("cpu", "1", "2"))), why: "template.spec.containers[0].resources.limits differs"},
		"no request any more":            {to: TemplateWith(Needs(Amounts("cpu", "", ""))), why: "template.spec.containers[0].resources.requests differs"},
		"another resource":               {from: TemplateWith(Needs(Amounts("example.com/gpu", "1", "1"))), to: TemplateWith(Needs(Amounts("example.com/gpu", "2", "2"))), why: "template.spec.containers[0].resources.limits.example.com/gpu differs"},
		"claims":                         {to: TemplateWith(Needs(claims)), why: "template.spec.containers[0].resources.claims differs"},
		"a limit that is the request by default": {
			from: TemplateWith(Needs(Amounts("cpu", "", "1"))), to: TemplateWith(Needs(Amounts("cpu", "2", "2"))), resources: []string{"app"},
		},
		"another QoS class": {
			from: alone(both), to: alone(unequal), why: "the QoS class would change from Guaranteed to Burstable",
		},
		"an environment variable": {
			to:  TemplateWith(App(func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "A", Value: "b"}} })),
			why: "template.spec.containers[0].env differs",
		},
		"a command, deep down": {
			from: TemplateWith(App(func(c *corev1.Container) { c.Args = []string{"a", "b"} })),
			to:   TemplateWith(App(func(c *corev1.Container) { c.Args = []string{"a", "c"} })),
			why:  "template.spec.containers[0].args[1] differs",
		},
		"a new container": {
			to: TemplateWith(func(t *corev1.PodTemplateSpec) {
				t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "new"})
			}),
			why: "template.spec.containers differs",
		},
		"another container name": {
			to:  TemplateWith(App(func(c *corev1.Container) { c.Name = "other" })),
			why: "template.spec.containers[0].name differs",
		},
		"a finalizer": {
			to:  TemplateWith(func(t *corev1.PodTemplateSpec) { t.Finalizers = []string{"example.com/x"} }),
			why: "template.metadata.finalizers differs",
		},
		"the image of an init container": {
			from: TemplateWith(func(t *corev1.PodTemplateSpec) {
				t.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "a"}}
			}),
			to: TemplateWith(func(t *corev1.PodTemplateSpec) {
				t.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "b"}}
			}),
			why: "template.spec.initContainers[0].image differs",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.from == nil {
				test.from = TemplateWith()
			}
			before := test.to.DeepCopy()
			diff, why := Templates(test.from, test.to)
			if why != test.why {
				t.Errorf("got  %q\nwant %q", why, test.why)
			}
			if got := slices.Sorted(maps.Keys(diff.Images)); !slices.Equal(got, test.images) {
				t.Errorf("the images of %v differ, want %v", got, test.images)
			}
			if got := slices.Sorted(maps.Keys(diff.Resources)); !slices.Equal(got, test.resources) {
				t.Errorf("the resources of %v differ, want %v", got, test.resources)
			}
			if test.to.Spec.Containers[0].Image != before.Spec.Containers[0].Image {
				t.Error("Templates modified the template")
			}
		})
	}
	if _, why := Templates(nil, TemplateWith()); why != "the pod's revision no longer exists" {
		t.Errorf("without the old template: %q", why)
	}
}

// reads gives the first container an environment variable from a field of its pod.
func reads(path string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "FIELD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}}
	}
}

func labelled(key, value string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { metav1.SetMetaDataLabel(&t.ObjectMeta, key, value) }
}
