package change_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plugin/change"
	"github.com/mycompany/podmanager/pkg/plugin/revisions"
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
				c, err := Undo(snapshot.Snapshot{Manager: present}, revisionOf(wanted))
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
				back, err := Undo(snapshot.Snapshot{Manager: after}, revisionOf(present))
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

// undo says what the pods wait for, if any of them has yet to follow.
func TestUndoSays(t *testing.T) {
	onDelete := Strategy(v1.OnDeleteStrategy)
	const deleted = " (its update strategy is OnDelete: a pod is replaced when you delete it)"
	const later = " (it is paused; outdated pods are updated once it is resumed)"
	tests := map[string]struct {
		change  func(*v1.PodManager)
		pods    []*corev1.Pod
		missing []string
		want    string
	}{
		"a rolling update":                 {Limits("0", "1"), append(Pods3(), Pod(3, OfImage("v2"))), nil, ""},
		"OnDelete":                         {onDelete, append(Pods3(), Pod(3, OfImage("v2"))), nil, deleted},
		"OnDelete, and no pod has changed": {onDelete, Pods3(), nil, ""},
		"paused":                           {Paused, []*corev1.Pod{Pod(0), Pod(1), Pod(2, OfImage("v2"))}, nil, later},
		"paused, and one is surplus": {Paused, append(Pods3(), Pod(3, OfImage("v2"))), nil,
			" (it is paused; the surplus pod web-2 is deleted at once, and outdated pods are updated once it is resumed)"},
		"paused, and the other one is surplus": {Paused, append(Pods3(), Pod(3, OfImage("v2"), NotReady)), nil,
			" (it is paused; the surplus pod web-3 is deleted at once)"},
		"paused, and the other ones are surplus": {Paused, append(Pods3(), Pod(3, OfImage("v2"), NotReady), Pod(4, OfImage("v2"), NotReady)), nil,
			" (it is paused; 2 surplus pods are deleted at once)"},
		"paused, and no pod has changed":      {Paused, Pods3(), nil, ""},
		"paused, and the last one is leaving": {Paused, append(Pods3(), Pod(3, OfImage("v2"), Terminating)), nil, ""},
		"paused, without pods":                {Paused, nil, nil, later},
		"paused, and pods are not readable":   {Paused, nil, []string{"pods"}, later},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			present := Manager(3, Image("v2"), test.change)
			old := Stored(Manager(3), 4)
			s := snapshot.New(present, test.pods, []*appsv1.ControllerRevision{old}, test.missing, Now)
			to, err := revisions.Choose(s, "4")
			if err != nil {
				t.Fatal(err)
			}
			c, err := Undo(s, to)
			if want := "undone, to revision 4" + test.want; err != nil || c.Said != want {
				t.Errorf("got  %s\nwant %s; %v", c.Said, want, err)
			}
			shown := revisions.Undo(s, to).How
			if shown == revisions.Nothing && test.want != "" || (shown == revisions.OnlySurplus) != strings.HasSuffix(c.Said, "deleted at once)") {
				t.Errorf("undo shows %q, and says %q", shown, c.Said)
			}
		})
	}
}

// If the user has left a revision that failed, retry says how to try it again.
func TestRetryAnother(t *testing.T) {
	const none = "no revision of web was rolled back, has halted or missed its deadline, so there is none to retry; " +
		"to replace the pods, run 'kubectl pm restart web -n ns'"
	mark := func(failed ...string) snapshot.Snapshot {
		present := Manager(3, func(m *v1.PodManager) { m.Status.ObservedGeneration = 7 })
		s := snapshot.New(present, Pods3(), Versions("v1", "v2", "v3", "nginx"), nil, Now)
		for _, revision := range s.History() {
			for _, stored := range s.Stored {
				if stored.Name == revision.Name && slices.Contains(failed, snapshot.Images(revision.Template)) {
					metav1.SetMetaDataAnnotation(&stored.ObjectMeta, v1.AnnotationFailed, "2026-01-01T00:00:00Z")
				}
			}
		}
		return s
	}
	again := func(number string) string {
		return "the present template of web has not failed, so there is nothing to retry; revision " + number +
			" has failed before: to try it again, run 'kubectl pm undo web --to-revision " + number + " -n ns'"
	}
	for name, test := range map[string]struct {
		snapshot snapshot.Snapshot
		want     string
	}{
		"none has failed":                {mark(), none},
		"one has failed":                 {mark("v2"), again("2")},
		"the newest one":                 {mark("v1", "v3"), again("3")},
		"the present one failed earlier": {mark("nginx"), none},
	} {
		_, err := Retry(test.snapshot.Manager, Now)
		var notFailed NotFailed
		if !errors.As(err, &notFailed) || err.Error() != none {
			t.Fatalf("%s: got %v", name, err)
		}
		if got := notFailed.Among(test.snapshot); got.Error() != test.want {
			t.Errorf("%s: got\n%v\nwant\n%s", name, got, test.want)
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
