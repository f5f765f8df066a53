package plan_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// restartAt sets spec.restartAt, keeping the time zone of the text.
func restartAt(text string) func(*v1.PodManager) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return func(m *v1.PodManager) { m.Spec.RestartAt = ptr.To(metav1.NewTime(at)) }
}

func TestRestartAt(t *testing.T) {
	const at = "2026-11-15T12:00:00Z"
	noted := func(key, value string) func(*v1.PodManager) {
		return func(m *v1.PodManager) {
			whole(m)
			m.Spec.Template.Annotations = map[string]string{key: value}
		}
	}
	tests := map[string]struct {
		manager *v1.PodManager
		want    map[string]string
	}{
		"none":                               {manager: Manager(1)},
		"none, with a template":              {manager: Manager(1, noted("a", "b")), want: map[string]string{"a": "b"}},
		"the short form":                     {manager: Manager(1, restartAt(at)), want: map[string]string{v1.AnnotationRestartedAt: at}},
		"in full":                            {manager: Manager(1, whole, restartAt(at)), want: map[string]string{v1.AnnotationRestartedAt: at}},
		"beside other annotations":           {manager: Manager(1, noted("a", "b"), restartAt(at)), want: map[string]string{"a": "b", v1.AnnotationRestartedAt: at}},
		"overwrites the annotation":          {manager: Manager(1, noted(v1.AnnotationRestartedAt, "2025"), restartAt(at)), want: map[string]string{v1.AnnotationRestartedAt: at}},
		"in another time zone":               {manager: Manager(1, restartAt("2026-11-15T14:00:00+02:00")), want: map[string]string{v1.AnnotationRestartedAt: at}},
		"less than a second does not matter": {manager: Manager(1, restartAt("2026-11-15T12:00:00.7Z")), want: map[string]string{v1.AnnotationRestartedAt: at}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := test.manager.DeepCopy()
			template := history.Template(&test.manager.Spec)
			if !maps.Equal(template.Annotations, test.want) {
				t.Errorf("annotations %v, want %v", template.Annotations, test.want)
			}
			if !equality.Semantic.DeepEqual(test.manager, before) {
				t.Error("the spec, which is the cache's, was changed")
			}
			if template != test.manager.Spec.Template && test.manager.Spec.RestartAt == nil && test.manager.Spec.Template != nil {
				t.Error("the template was copied for nothing")
			}
			pod := NewPod(test.manager, Creation{Revision: RevisionFor(test.manager)})
			if got := pod.Annotations[v1.AnnotationRestartedAt]; got != test.want[v1.AnnotationRestartedAt] {
				t.Errorf("the pod has %q", got)
			}
		})
	}
	if RevisionFor(Manager(1, restartAt(at))).Name != RevisionFor(Manager(1, whole, restartAt(at))).Name {
		t.Error("the short form and the same template in full have different names: switching would replace all pods")
	}
	// The template of a revision with restartAt can be applied again without the field.
	again := Manager(1, restartAt(at))
	again.Spec.Template, again.Spec.Image, again.Spec.RestartAt = RevisionFor(again).Template(), "", nil
	if RevisionFor(again).Name != RevisionFor(Manager(1, restartAt(at))).Name {
		t.Error("the template of the revision is not the revision")
	}
}

// A restart is a rollout. An update in place cannot restart pods.
func TestRestartMoves(t *testing.T) {
	restart := restartAt("2026-11-15T12:00:00Z")
	for name, change := range map[string]func(*v1.PodManager){
		"the short form": func(*v1.PodManager) {}, "in full": whole, "in place": InPlace(v1.InPlaceIfPossible, 0),
	} {
		t.Run(name, func(t *testing.T) {
			if got := ActionsOf(Make(RollingOut(Manager(3, Limits("0", "1"), change, restart), Pods3()...))); got != "+3 new, -2" {
				t.Errorf("got %q", got)
			}
		})
	}
	o := RollingOut(Manager(3, InPlace(v1.InPlaceOnly, 0), restart), Pods3()...)
	if status, _ := status.Compute(ReportOf(o)); ReasonIn(&status, v1.ConditionReady) != v1.ReasonNotInPlace || !strings.Contains(MessageIn(&status, v1.ConditionReady), "a restart was asked for") {
		t.Errorf("Ready: %s: %s", ReasonIn(&status, v1.ConditionReady), MessageIn(&status, v1.ConditionReady))
	}
}
