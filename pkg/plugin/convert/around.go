package convert

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Live has the objects that refer to a live object or belong to it.
type Live struct {
	// Autoscalers are the HorizontalPodAutoscalers that scale the object, Budgets the PodDisruptionBudgets that select its pods.
	Autoscalers, Budgets []string
	// Sets are the ReplicaSets of a Deployment.
	Sets []Set
	// Revisions are the ControllerRevisions that the object controls.
	Revisions []string
	// Unread lists what could not be read, and why.
	Unread []string
}

// Set is a ReplicaSet of a Deployment.
type Set struct {
	Name     string
	UID      types.UID
	Replicas int32
}

// scaleTarget returns the patch that makes an autoscaler scale a PodManager.
func scaleTarget(name string) string {
	return fmt.Sprintf(`{"spec":{"scaleTargetRef":{"apiVersion":"%s","kind":"%s","name":"%s"}}}`, v1.GroupVersionKind.GroupVersion(), v1.Kind, name)
}

// around returns notes on other objects that refer to the source or its pods.
func (c *conversion) around(object *unstructured.Unstructured, o Options) []string {
	var notes []string
	live := o.Live
	if live == nil {
		for _, name := range autoscalersOf(object, o) {
			notes = append(notes, c.retarget(name))
		}
		if len(notes) == 0 {
			notes = append(notes, fmt.Sprintf("what scales %s, such as a HorizontalPodAutoscaler, has to name PodManager %s (apiVersion %s) in its scaleTargetRef",
				from(object), c.name, v1.GroupVersionKind.GroupVersion()))
		}
		return append(notes, "Services and PodDisruptionBudgets keep working: they select pods by labels, which do not change")
	}
	for _, name := range live.Autoscalers {
		notes = append(notes, fmt.Sprintf("HorizontalPodAutoscaler %s scales it: kubectl patch hpa %[1]s --type=merge -p '%s'", name, scaleTarget(c.name)))
	}
	for _, name := range live.Budgets {
		notes = append(notes, fmt.Sprintf("PodDisruptionBudget %s keeps working: it selects pods by labels, which do not change", name))
	}
	for _, what := range live.Unread {
		notes = append(notes, what+"; check whether there is one for "+from(object))
	}
	return notes
}
