package plantest

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// podPatch has the fields that our patches of pods set.
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

// ApplyPatch patches a pod as the API server would.
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
		SetCondition(p, c)
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

func SetCondition(p *corev1.Pod, c corev1.PodCondition) {
	if found := podstate.Condition(p, c.Type); found != nil {
		if found.Status == c.Status {
			c.LastTransitionTime = found.LastTransitionTime
		}
		*found = c
		return
	}
	p.Status.Conditions = append(p.Status.Conditions, c)
}

func DropCondition(p *corev1.Pod, kind corev1.PodConditionType) {
	p.Status.Conditions = slices.DeleteFunc(slices.Clone(p.Status.Conditions), func(c corev1.PodCondition) bool { return c.Type == kind })
}

// Digest is a plan as text: one line for each request.
func Digest(plan plan.Plan) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, c := range plan.Create {
		add("create %d %s %d", c.Index, c.Revision.Hash, c.FailuresBefore)
	}
	for _, d := range plan.Delete {
		add("delete %s: %s", d.Pod.Name, d.Why)
	}
	for _, c := range plan.Update {
		to := ""
		if c.To != nil {
			to = c.To.Hash
		}
		add("%s %s %s", c.Step, c.Pod.Name, to)
	}
	for _, p := range plan.Adopt {
		add("adopt %s", p.Name)
	}
	for _, p := range plan.Release {
		add("release %s", p.Name)
	}
	for _, r := range plan.Drop {
		add("drop %s", r.Name)
	}
	for _, s := range plan.Store {
		add("store %s %d", s.Revision.Name, s.Revision.Revision)
	}
	if plan.Waiting != nil {
		add("waiting for %s", plan.Waiting.Pod.Name)
	}
	if plan.Held != nil {
		add("held")
	}
	if !plan.Again.Never() {
		add("again at %v because %s", plan.Again.At, plan.Again.Why)
	}
	return append(lines, plan.Foreign...)
}
