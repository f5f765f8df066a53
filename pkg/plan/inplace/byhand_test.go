package inplace_test

import (
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// A pod that was made by hand gets no revision by a restore: it is taken for one of the current revision, and goes on to be. It
// is being changed all the same, until its node has followed.
func TestRestoredPodMadeByHand(t *testing.T) {
	before, after := memoryOf("1", "1Gi"), memoryOf("1", "2Gi")
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
		t.Errorf("changing: %v, available: %v, although its node has yet to restart it: %s",
			IsUpdating(p), health.IsAvailable(p, 0, Now), p.Annotations[v1.AnnotationInPlace])
	}
	if UpdatedAt(p) != Now {
		t.Errorf("changed at %v, so that minReadySeconds do not begin anew", UpdatedAt(p))
	}
}
