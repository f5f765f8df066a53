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
	c.Said += undoWaits(s, spec, to)
	return c, nil
}

// undoWaits returns what pods wait for after an undo, and which of them do not wait.
func undoWaits(s snapshot.Snapshot, spec *v1.PodManagerSpec, to snapshot.Revision) string {
	undone := s.Manager.DeepCopy()
	undone.Spec = *spec
	surplus := s.SurplusInPause(undone)
	deleted := fmt.Sprintf("%d surplus pods are deleted at once", len(surplus))
	if len(surplus) == 1 {
		deleted = "the surplus pod " + surplus[0].Name + " is deleted at once"
	}
	switch haveIt := s.AllHave(to, surplus...); {
	case haveIt && len(surplus) == 0: // no pod waits for anything
		return ""
	case haveIt:
		return " (it is paused; " + deleted + ")"
	case len(surplus) == 0:
		return waits(s.Manager, "outdated pods are updated")
	default:
		return waits(s.Manager, deleted+", and outdated pods are updated")
	}
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
