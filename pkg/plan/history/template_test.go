package history_test

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

func TestRestartAt(t *testing.T) {
	const at = "2026-11-15T12:00:00Z"
	noted := func(key, value string) func(*v1.PodManager) {
		return func(m *v1.PodManager) {
			Whole(m)
			m.Spec.Template.Annotations = map[string]string{key: value}
		}
	}
	tests := map[string]struct {
		manager *v1.PodManager
		want    map[string]string
	}{
		"none":                               {manager: Manager(1)},
		"none, with a template":              {manager: Manager(1, noted("a", "b")), want: map[string]string{"a": "b"}},
		"the short form":                     {manager: Manager(1, RestartAt(at)), want: map[string]string{v1.AnnotationRestartedAt: at}},
		"in full":                            {manager: Manager(1, Whole, RestartAt(at)), want: map[string]string{v1.AnnotationRestartedAt: at}},
		"beside other annotations":           {manager: Manager(1, noted("a", "b"), RestartAt(at)), want: map[string]string{"a": "b", v1.AnnotationRestartedAt: at}},
		"overwrites the annotation":          {manager: Manager(1, noted(v1.AnnotationRestartedAt, "2025"), RestartAt(at)), want: map[string]string{v1.AnnotationRestartedAt: at}},
		"in another time zone":               {manager: Manager(1, RestartAt("2026-11-15T14:00:00+02:00")), want: map[string]string{v1.AnnotationRestartedAt: at}},
		"less than a second does not matter": {manager: Manager(1, RestartAt("2026-11-15T12:00:00.7Z")), want: map[string]string{v1.AnnotationRestartedAt: at}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := test.manager.DeepCopy()
			template := history.Template(&test.manager.Spec)
			if !maps.Equal(template.Annotations, test.want) {
				t.Errorf("annotations %v, want %v", template.Annotations, test.want)
			}
			if !equality.Semantic.DeepEqual(test.manager, before) {
				t.Error("Template changed the spec, which belongs to the cache")
			}
			if template != test.manager.Spec.Template && test.manager.Spec.RestartAt == nil && test.manager.Spec.Template != nil {
				t.Error("Template copied a template that it does not change")
			}
			pod := plan.NewPod(test.manager, plan.Creation{Revision: RevisionFor(test.manager)})
			if got := pod.Annotations[v1.AnnotationRestartedAt]; got != test.want[v1.AnnotationRestartedAt] {
				t.Errorf("the pod has the annotation %q", got)
			}
		})
	}
	if RevisionFor(Manager(1, RestartAt(at))).Name != RevisionFor(Manager(1, Whole, RestartAt(at))).Name {
		t.Error("the short form and the same template in full have different names: switching would replace all pods")
	}
	// If a user applies the template of such a revision again, without spec.restartAt, the revision stays the same.
	again := Manager(1, RestartAt(at))
	again.Spec.Template, again.Spec.Image, again.Spec.RestartAt = RevisionFor(again).Template(), "", nil
	if RevisionFor(again).Name != RevisionFor(Manager(1, RestartAt(at))).Name {
		t.Error("applying the template of a revision leads to another revision")
	}
}

func TestRevision(t *testing.T) {
	of := func(change func(*v1.PodManager)) string { return RevisionFor(Manager(3, change)).Hash }
	base := of(func(*v1.PodManager) {})
	if got := of(func(m *v1.PodManager) { m.Spec.Replicas = nil; m.Spec.MinReadySeconds = 5 }); got != base {
		t.Error("the revision changes with something that is not in the template")
	}
	if got := of(func(m *v1.PodManager) { m.Spec.Image = "nginx:2" }); got == base {
		t.Error("the revision does not change with the image")
	}
}

func TestRevisionNames(t *testing.T) {
	name := func(change ...func(*v1.PodManager)) string { return RevisionFor(Manager(3, change...)).Name }
	collided := func(m *v1.PodManager) { m.Status.CollisionCount = 1 }
	if name(Image("a")) == name(Image("b")) {
		t.Error("two templates have revisions of the same name")
	}
	if name(Image("a")) != name(Image("a"), Whole) {
		t.Error("the short form and the same template in full have different names: switching would replace all pods")
	}
	if name() == name(collided) {
		t.Error("a collision does not lead to another name")
	}
	if label := RevisionFor(Manager(3)).Hash; strings.ToLower(label) != label || len(label) > 10 {
		t.Errorf("the hash %q is long or has upper-case letters", label)
	}
}
