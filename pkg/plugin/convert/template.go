package convert

import (
	"slices"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The CRD refuses these labels and annotations in a template, because the controller or users set them on single pods.
var (
	ownLabels      = []string{v1.LabelManager, v1.LabelManagerUID, v1.LabelRevision, v1.LabelShard, v1.LabelPodIndex}
	ownAnnotations = []string{
		v1.AnnotationDelete, v1.AnnotationFailuresBefore, v1.AnnotationDisruptionsBefore, v1.AnnotationReplaces, v1.AnnotationInPlace,
	}
)

// template copies the pod template. All kinds share the same pod spec.
func (c *conversion) template() {
	template, _ := c.take("spec", "template").(map[string]any)
	if template == nil {
		return // the API server will report that it is missing
	}
	s := &source{left: template}
	metadata := map[string]any{}
	for _, field := range []string{"labels", "annotations"} {
		kept, _ := s.take("metadata", field).(map[string]any)
		for _, key := range slices.Concat(ownLabels, ownAnnotations) {
			if _, found := kept[key]; found {
				c.note("spec.template.metadata.%s.%s: is set on single pods, and left out of the template", field, key)
				delete(kept, key)
			}
		}
		if len(kept) > 0 {
			metadata[field] = kept
		}
	}
	if finalizers := s.take("metadata", "finalizers"); finalizers != nil {
		metadata["finalizers"] = finalizers
	}
	s.take("metadata", "creationTimestamp") // kubectl prints it as null
	if spec := s.take("spec"); spec != nil {
		template = map[string]any{"spec": spec}
	}
	if len(metadata) > 0 {
		template["metadata"] = metadata
	}
	for _, path := range leavesOf(s.left, "") {
		c.note("spec.template.%s: has no effect on pods, and is left out", path)
	}
	c.spec["template"] = template
}
