package inplace_test

import (
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// StepRestore gives a pod that was made by hand no revision label: the pod still counts as one of the current revision. It is updating
// all the same, until the kubelet has carried out the restore.
func TestRestoredPodMadeByHand(t *testing.T) {
	before, after := sizedManager("1", "1Gi"), sizedManager("1", "2Gi")
	p := interrupted(before, after, 2, true)
	delete(p.Labels, v1.LabelRevision)
	step := Update{Pod: p, Step: StepRestore, From: RevisionFor(before), To: RevisionFor(before)}
	resize, err := step.ResizePatch()
	if err != nil {
		t.Fatal(err)
	}
	patch, err := step.Patch(before, Now)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, resize)
	ApplyPatch(p, patch)
	if !IsUpdating(p) || health.IsAvailable(p, 0, Now) {
		t.Errorf("updating: %v, available: %v, although the kubelet has yet to restart the container: %s",
			IsUpdating(p), health.IsAvailable(p, 0, Now), p.Annotations[v1.AnnotationInPlace])
	}
	if UpdatedAt(p) != Now {
		t.Errorf("updated at %v, so that minReadySeconds do not begin anew", UpdatedAt(p))
	}
}
