package status_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plan/status"
)

func TestIsUnfinished(t *testing.T) {
	done := func(m *v1.PodManager) {
		m.Status.ObservedGeneration = m.Generation
		m.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
	}
	tests := map[string]struct {
		manager *v1.PodManager
		want    bool
	}{
		"done":                  {manager: Manager(3, done)},
		"being deleted":         {manager: Manager(3, done, Deleting), want: true},
		"edited":                {manager: Manager(3, done, func(m *v1.PodManager) { m.Generation++ }), want: true},
		"not Ready":             {manager: Manager(3, done, func(m *v1.PodManager) { m.Status.Conditions[0].Status = metav1.ConditionFalse }), want: true},
		"a pod is missing":      {manager: Manager(4, done), want: true},
		"there is one too many": {manager: Manager(2, done), want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := IsUnfinished(test.manager, Pods3()); got != test.want {
				t.Errorf("unfinished: %v", got)
			}
		})
	}
}

// A status without terminating pods is news only if the status before had some.
func TestLastPodGoneIsNews(t *testing.T) {
	at := func(terminating int32) *v1.PodManagerStatus {
		return &v1.PodManagerStatus{
			ObservedGeneration: 1, TerminatingReplicas: terminating,
			Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}},
		}
	}
	for name, test := range map[string]struct {
		old, now int32
		want     bool
	}{
		"none before, none now": {},
		"the last one is gone":  {old: 1, want: true},
		"one of two is gone":    {old: 2, now: 1},
	} {
		if got := IsNews(at(test.old), at(test.now)); got != test.want {
			t.Errorf("%s: news: %v", name, got)
		}
	}
}

// Ready names an updated pod that has kept its CPU and memory, because a VerticalPodAutoscaler sets them.
func TestHintAboutVPA(t *testing.T) {
	sized := func(cpu string) func(*v1.PodManager) {
		return func(m *v1.PodManager) {
			m.Spec.Image = ""
			m.Spec.Template = TemplateWith(Needs(Amounts("cpu", cpu, "")))
		}
	}
	m := Manager(1, sized("2"), InPlace(v1.InPlaceIfPossible, 0))
	update := RevisionFor(m)
	pod := Pod(0, InPlaceTo("v2", 0, 0))
	pod.Spec.Containers = RevisionFor(Manager(1, sized("1"))).Template().DeepCopy().Spec.Containers
	pod.Labels[v1.LabelRevision] = update.Hash
	pod.Annotations[v1.AnnotationInPlace] = `{"revision":"` + update.Hash + `"}`
	without, _ := Compute(Reported(m, pod))
	pod.Annotations["vpaUpdates"] = "Pod resources updated by web: container 0: cpu request"
	with, _ := Compute(Reported(m, pod))
	if got := MessageIn(&with, v1.ConditionReady); got == MessageIn(&without, v1.ConditionReady) {
		t.Errorf("Ready does not say that the pod was not resized: %q", got)
	}
}

// Later plans depend on what the status remembers of revisions and the rollout, and on nothing else in it.
func TestRemembersTheSame(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1.PodManagerStatus)
		want   bool
	}{
		"nothing":         {func(*v1.PodManagerStatus) {}, true},
		"ready pods":      {func(s *v1.PodManagerStatus) { s.ReadyReplicas++ }, true},
		"currentRevision": {func(s *v1.PodManagerStatus) { s.CurrentRevision = "another" }, false},
		"failedRevision":  {func(s *v1.PodManagerStatus) { s.FailedRevision = "another" }, false},
		"collisionCount":  {func(s *v1.PodManagerStatus) { s.CollisionCount++ }, false},
		"the rollout":     {func(s *v1.PodManagerStatus) { s.Rollout = &v1.RolloutStatus{} }, false},
	} {
		changed := v1.PodManagerStatus{}
		test.change(&changed)
		if got := RemembersTheSame(&v1.PodManagerStatus{}, &changed); got != test.want {
			t.Errorf("%s: remembers the same: %v", name, got)
		}
	}
}
