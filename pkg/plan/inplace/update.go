package inplace

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/history"
)

// Update is one step of changing a pod without replacing it.
type Update struct {
	Pod  *corev1.Pod
	Step Step
	// From and To are the pod's revision and the one that it gets.
	From, To *history.Revision
}

// Step is what is done to the pod.
type Step string

// The steps, in their order. Without a grace period there is only the second one.
const (
	// StepDrain closes the readiness gate, which takes the pod out of its Services.
	StepDrain Step = "Drain"
	// StepUpdate updates the pod.
	StepUpdate Step = "Update"
	// StepOpen opens the readiness gate.
	StepOpen Step = "Open"
	// StepRestore gives a pod back what its revision says, where a change has begun that is not wanted any more.
	StepRestore Step = "Restore"
)

// TurnsTheGate tells whether the step is only about the readiness gate.
func (i Update) TurnsTheGate() bool { return i.Step == StepDrain || i.Step == StepOpen }

// Diff is what the step changes in the pod's containers.
func (i Update) Diff() Diff {
	change, _ := Compare(i.From.Template(), i.To.Template())
	return change
}

// TakesTheNode tells whether the pod's node has something to do for the change: it tells when that is done.
func (i Update) TakesTheNode() bool {
	return i.Diff().TakesTheNode()
}
