package change

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
)

// Undo writes the template of an old revision into the spec. The spec keeps its form, image or template, if that form can express the template.
// The revision keeps its change cause.
func Undo(s snapshot.Snapshot, to snapshot.Revision) (Change, error) {
	manager := s.Manager
	if equality.Semantic.DeepEqual(history.Template(&manager.Spec), to.Template) {
		return nothing("has the template of %s already", to.Title())
	}
	spec := specOf(manager, to.Template)
	if !equality.Semantic.DeepEqual(history.Template(spec), to.Template) {
		return Change{}, fmt.Errorf("the spec of %s cannot express the template of %s; apply an old manifest instead", manager.Name, to.Title())
	}
	c := Change{Said: "undone, to " + to.Title()}
	switch {
	case spec.RestartAt == nil && manager.Spec.RestartAt != nil:
		c.remove("spec", "restartAt")
	case spec.RestartAt != nil && !spec.RestartAt.Equal(manager.Spec.RestartAt):
		c.set(spec.RestartAt, "spec", "restartAt")
	}
	switch {
	case spec.Template == nil && spec.Image != manager.Spec.Image:
		c.set(spec.Image, "spec", "image")
	case spec.Template != nil && !equality.Semantic.DeepEqual(spec.Template, manager.Spec.Template):
		if manager.Spec.Template == nil {
			c.remove("spec", "image")
		}
		c.set(json.RawMessage(history.Encode(spec.Template)), "spec", "template")
	}
	c.setCause(manager, to.Cause)
	if !s.AllHave(to) { // otherwise no pod waits for anything
		c.Said += waits(manager, "outdated pods are updated")
	}
	return c, nil
}

// specOf returns the spec with another template. restartAt is part of the template in a revision, but a separate field in a spec.
func specOf(manager *v1.PodManager, template *corev1.PodTemplateSpec) *v1.PodManagerSpec {
	spec := manager.Spec.DeepCopy()
	spec.RestartAt, spec.Image, spec.Template = nil, "", template.DeepCopy()
	mark := spec.Template.Annotations[v1.AnnotationRestartedAt]
	if at, err := time.Parse(time.RFC3339, mark); err == nil && at.UTC().Format(time.RFC3339) == mark {
		spec.RestartAt = &metav1.Time{Time: at}
		if delete(spec.Template.Annotations, v1.AnnotationRestartedAt); len(spec.Template.Annotations) == 0 {
			spec.Template.Annotations = nil
		}
	}
	if manager.Spec.Template != nil || len(template.Spec.Containers) != 1 {
		return spec
	}
	short := spec.DeepCopy()
	short.Image, short.Template = template.Spec.Containers[0].Image, nil
	if equality.Semantic.DeepEqual(history.Template(short), template) {
		return short
	}
	return spec
}
