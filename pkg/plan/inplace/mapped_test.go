package inplace_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// An admission webhook may change the image in a patch, for example to a mirror or a digest, or the CPU and memory. The kubelet acts on what is
// stored. If the container already has that, nothing restarts, and the update is complete.
func TestMappedByAdmission(t *testing.T) {
	const pinned, other = "mirror/app@sha256:1", "mirror/app@sha256:2"
	base := Sized("1", "1Gi", "")
	image := func(name string) func(*corev1.PodTemplateSpec) {
		return App(func(c *corev1.Container) { c.Image = name })
	}
	of := func(hash string, change ...func(*corev1.PodTemplateSpec)) *history.Revision {
		return RevisionWith(hash, TemplateWith(append(change, Policies(corev1.NotRequired, corev1.RestartContainer))...))
	}
	one, two, memory, both := of("one", base), of("two", base, image("app:2")), of("memory", Sized("2", "2Gi", "")), of("both", Sized("2", "2Gi", ""), image("app:2"))
	stores := func(image string) func(*corev1.Container) { return func(c *corev1.Container) { c.Image = image } }
	storesMemory := func(memory, image string) func(*corev1.Container) {
		return func(c *corev1.Container) {
			c.Image = image
			c.Resources = TemplateWith(Sized("2", memory, "")).Spec.Containers[0].Resources
		}
	}
	type update struct {
		to     *history.Revision
		stores func(*corev1.Container)
	}
	tests := map[string]struct {
		updates []update
		want    bool
	}{
		"the image that it runs": {updates: []update{{two, stores(pinned)}}},
		"another image":          {updates: []update{{two, stores(other)}}, want: true},
		"the image that it runs, and the update is undone": {updates: []update{{two, stores(pinned)}, {one, stores(pinned)}}},
		"the image that it runs, then another":             {updates: []update{{two, stores(pinned)}, {one, stores(other)}}, want: true},
		"the memory that it has":                           {updates: []update{{memory, storesMemory("1Gi", pinned)}}},
		"other memory":                                     {updates: []update{{memory, storesMemory("2Gi", pinned)}}, want: true},
		"the image, and other memory":                      {updates: []update{{both, storesMemory("2Gi", pinned)}}, want: true},
		"the memory, and another image":                    {updates: []update{{both, storesMemory("1Gi", other)}}, want: true},
		"the image and the memory":                         {updates: []update{{both, storesMemory("1Gi", pinned)}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := Pod(3, Labelled(v1.LabelRevision, one.Hash), Runs(pinned, "id-1", 2))
			p.Spec, p.Generation = *one.Template().Spec.DeepCopy(), 1
			p.Spec.NodeName, p.Spec.Containers[0].Image = "node", pinned
			from := one
			for _, update := range test.updates {
				updateTo(t, p, from, update.to)
				update.stores(&p.Spec.Containers[0])
				p.Status.ObservedGeneration = p.Generation
				from = update.to
			}
			trimmed := p.DeepCopy()
			podstate.Trim(trimmed)
			for _, pod := range []*corev1.Pod{p, trimmed} {
				if got := IsUpdating(pod); got != test.want {
					t.Errorf("updating: %v; %s", got, pod.Annotations[v1.AnnotationInPlace])
				}
				if got := health.IsAvailable(pod, 0, Now); got == test.want {
					t.Errorf("available: %v", got)
				}
				if got := MayRestart(pod); got != test.want {
					t.Errorf("may restart: %v", got)
				}
			}
			Runs(test.updates[0].to.Name, "id-2", 3)(p)
			if IsUpdating(p) {
				t.Errorf("still updating after the restart: %s", p.Annotations[v1.AnnotationInPlace])
			}
		})
	}
}
