package world

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// podPatch has the fields that patches of pods contain.
type podPatch struct {
	Metadata struct{ Labels, Annotations map[string]*string }
	Spec     struct {
		Containers []struct {
			Name, Image string
			Resources   *corev1.ResourceRequirements
		}
	}
	Status struct {
		Conditions []corev1.PodCondition
	}
}

// ApplyPatch patches a pod like the API server.
func ApplyPatch(p *corev1.Pod, data []byte) {
	var patch podPatch
	if err := json.Unmarshal(data, &patch); err != nil {
		panic(err)
	}
	merge(&p.Labels, patch.Metadata.Labels)
	merge(&p.Annotations, patch.Metadata.Annotations)
	before := p.Spec.DeepCopy()
	for _, container := range patch.Spec.Containers {
		for i := range p.Spec.Containers {
			if own := &p.Spec.Containers[i]; own.Name == container.Name {
				if container.Image != "" {
					own.Image = container.Image
				}
				if container.Resources != nil {
					own.Resources = *container.Resources
				}
			}
		}
	}
	if !equality.Semantic.DeepEqual(before, &p.Spec) {
		p.Generation++
	}
	for _, c := range patch.Status.Conditions {
		nodes.SetCondition(p, c)
	}
}

func merge(into *map[string]string, changes map[string]*string) {
	for key, value := range changes {
		if value == nil {
			delete(*into, key)
			continue
		}
		if *into == nil {
			*into = map[string]string{}
		}
		(*into)[key] = *value
	}
}
