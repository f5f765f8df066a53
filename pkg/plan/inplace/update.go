package inplace

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/history"
)

// Update is one step of updating a pod in place.
type Update struct {
	Pod  *corev1.Pod
	Step Step
	// From is the pod's revision, To the revision that it gets. StepRestore has the pod's revision in both, gate steps may have none.
	From, To *history.Revision
}

// Step is what an Update does to the pod.
type Step string

// StepDrain, StepUpdate and StepOpen follow each other. Without a grace period there is only StepUpdate. StepRestore stands alone.
const (
	// StepDrain closes the readiness gate, which takes the pod out of its Services.
	StepDrain Step = "Drain"
	// StepUpdate gives the pod the new revision.
	StepUpdate Step = "Update"
	// StepOpen opens the readiness gate.
	StepOpen Step = "Open"
	// StepRestore reverts an interrupted update: it gives the pod the CPU and memory of the revision that it still has.
	StepRestore Step = "Restore"
)

// IsGateStep tells whether the step only closes or opens the readiness gate.
func (u Update) IsGateStep() bool { return u.Step == StepDrain || u.Step == StepOpen }

// Diff is what the step changes in the pod's containers.
func (u Update) Diff() Diff {
	diff, _ := Compare(u.From.Template(), u.To.Template())
	return diff
}

// NeedsKubelet tells whether the kubelet has to carry out something for the update, and will report it.
func (u Update) NeedsKubelet() bool {
	return u.Diff().NeedsKubelet()
}
