package plan_test

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

func TestDefaultSpreading(t *testing.T) {
	inZone := Labelled(corev1.LabelTopologyZone, "a")
	own := corev1.TopologySpreadConstraint{TopologyKey: "rack", MaxSkew: 1}
	tests := map[string]struct {
		spreading Spreading
		pod       *corev1.Pod
		template  []corev1.TopologySpreadConstraint
		want      map[string]int32
	}{
		"no zones known":            {spreading: SpreadAuto, pod: Pod(0), want: map[string]int32{corev1.LabelHostname: 3}},
		"zones":                     {spreading: SpreadAuto, pod: Pod(0, inZone), want: map[string]int32{corev1.LabelHostname: 3, corev1.LabelTopologyZone: 5}},
		"zones by default":          {pod: Pod(0, inZone), want: map[string]int32{corev1.LabelHostname: 3, corev1.LabelTopologyZone: 5}},
		"nodes only":                {spreading: SpreadHost, pod: Pod(0, inZone), want: map[string]int32{corev1.LabelHostname: 3}},
		"none":                      {spreading: SpreadNone, pod: Pod(0, inZone)},
		"the template has some":     {pod: Pod(0, inZone), template: []corev1.TopologySpreadConstraint{own}, want: map[string]int32{"rack": 1}},
		"the template is as it was": {spreading: SpreadNone, pod: Pod(0), template: []corev1.TopologySpreadConstraint{own}, want: map[string]int32{"rack": 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := Manager(2, func(m *v1.PodManager) {
				m.Spec.Image = ""
				m.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "app", Image: "nginx"}}, TopologySpreadConstraints: test.template,
				}}
			})
			revision := RevisionFor(m).Hash
			test.pod.Labels[v1.LabelRevision] = revision
			decided := Make(With(Observe(m, test.pod), func(o *Observed) { o.Spreading = test.spreading }))
			if len(decided.Create) != 1 || decided.Create[0].Revision.Hash != revision {
				t.Fatalf("creates %v", decided.Create)
			}
			got := NewPod(m, decided.Create[0]).Spec.TopologySpreadConstraints
			if len(got) != len(test.want) {
				t.Errorf("constraints %v, want %v", got, test.want)
			}
			for _, c := range got {
				if c.MaxSkew != test.want[c.TopologyKey] {
					t.Errorf("%s has a skew of %d, want %v", c.TopologyKey, c.MaxSkew, test.want)
				}
				if c.TopologyKey == "rack" {
					continue
				}
				if c.WhenUnsatisfiable != corev1.ScheduleAnyway || !maps.Equal(c.LabelSelector.MatchLabels, map[string]string{v1.LabelManager: m.Name, v1.LabelRevision: revision}) {
					t.Errorf("%v", c)
				}
			}
		})
	}
}

// Pods that an earlier version has created are annotated a few at a time, and pods that the plan changes otherwise are left out.
func TestAnnotate(t *testing.T) {
	var pods []*corev1.Pod
	for index := range 10 {
		pods = append(pods, Pod(index, Unannotated))
	}
	decided := Make(Observe(Manager(10), pods...))
	if len(decided.Annotate) != 5 || decided.Empty() || !decided.TouchesWhatExists() || decided.TakesDown(Manager(1)) {
		t.Errorf("annotates %v at a time, want 5: maxSurge and maxUnavailable", Names(decided.Annotate))
	}
	decided = Make(Observe(Manager(2), pods[0], pods[1], pods[2]))
	if len(decided.Delete) != 1 || slices.Contains(decided.Annotate, decided.Delete[0].Pod) {
		t.Errorf("deletes %v and annotates %v", decided.Delete, Names(decided.Annotate))
	}
	made := NewPod(Manager(1), Creation{Revision: RevisionFor(Manager(1))})
	if made.Annotations[podstate.AnnotationSafeToEvict] != "true" {
		t.Errorf("a new pod has the annotations %v", made.Annotations)
	}
	if decided := Make(Observe(Manager(1), Pod(0))); len(decided.Annotate) > 0 {
		t.Error("a pod that has the annotation is annotated")
	}
}
