package change_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plugin/change"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
)

// applied returns the PodManager after a change.
func applied(t *testing.T, m *v1.PodManager, c Change) *v1.PodManager {
	t.Helper()
	after, err := c.Applied(m)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

// After undo, the spec produces the exact template of the revision, in either form, and nothing else has changed. A second undo reverts the
// first.
func TestUndo(t *testing.T) {
	restarted := func(m *v1.PodManager) { m.Spec.RestartAt = &metav1.Time{Time: Now} }
	marked := func(m *v1.PodManager) {
		twoContainers(m)
		m.Spec.Template.Annotations = map[string]string{v1.AnnotationRestartedAt: "yesterday", "a": "b"}
	}
	forms := map[string]*v1.PodManager{
		"short":               Manager(3),
		"short, another one":  Manager(3, Image("nginx:2")),
		"short and restarted": Manager(3, restarted),
		"template":            Manager(3, twoContainers),
		"template, restarted": Manager(3, twoContainers, restarted),
		"template with a mark that restartAt cannot say": Manager(3, marked),
		"paused, with a cause":                           Manager(5, Image("nginx:3"), Paused, Because("a try")),
	}
	for from, present := range forms {
		for to, wanted := range forms {
			t.Run(from+" to "+to, func(t *testing.T) {
				c, err := Undo(present, revisionOf(wanted))
				if err != nil {
					t.Fatal(err)
				}
				if from == to {
					if !c.IsEmpty() {
						t.Fatalf("undo to the present template should change nothing, but: %s", opsOf(t, c, present))
					}
					return
				}
				after := applied(t, present, c)
				checkUndone(t, present, wanted, after)
				back, err := Undo(after, revisionOf(present))
				if err != nil {
					t.Fatal(err)
				}
				if got := applied(t, after, back); !equality.Semantic.DeepEqual(history.Template(&got.Spec), history.Template(&present.Spec)) {
					t.Errorf("undo after undo: %v", got.Spec)
				}
			})
		}
	}
}

// checkUndone checks what undo has made of a PodManager whose template was to become the wanted one.
func checkUndone(t *testing.T, present, wanted, after *v1.PodManager) {
	t.Helper()
	target := revisionOf(wanted).Template
	if got := history.Template(&after.Spec); !equality.Semantic.DeepEqual(got, target) {
		t.Errorf("got %v, want %v", got, target)
	}
	if (after.Spec.Image == "") == (after.Spec.Template == nil) {
		t.Errorf("the spec needs either an image or a template: %+v", after.Spec)
	}
	if present.Spec.Template == nil && wanted.Spec.Template == nil && after.Spec.Template != nil {
		t.Error("the spec has a template, although an image is enough")
	}
	if after.Annotations[v1.AnnotationChangeCause] != wanted.Annotations[v1.AnnotationChangeCause] {
		t.Errorf("change cause %q", after.Annotations[v1.AnnotationChangeCause])
	}
	if *after.Spec.Replicas != *present.Spec.Replicas || after.Spec.Paused != present.Spec.Paused {
		t.Errorf("other fields have changed: %+v", after.Spec)
	}
}

func revisionOf(m *v1.PodManager) snapshot.Revision {
	template := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal(history.Encode(history.Template(&m.Spec)), template); err != nil { // as a ControllerRevision stores it
		panic(err)
	}
	return snapshot.Revision{Number: 4, Template: template, Cause: m.Annotations[v1.AnnotationChangeCause]}
}
