package plan

import (
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A pod that was made by hand gets no revision by a restore: it is taken for one of the current revision, and goes on to be. It
// is being changed all the same, until its node has followed.
func TestRestoredPodMadeByHand(t *testing.T) {
	before, after := memoryOf("1", "1Gi"), memoryOf("1", "2Gi")
	p := interrupted(before, after, 2, true)
	delete(p.Labels, v1.LabelRevision)
	step := InPlace{Pod: p, Step: StepRestore, From: revisionFor(before), To: revisionFor(before)}
	resize, err := step.ResizePatch()
	if err != nil {
		t.Fatal(err)
	}
	patch, err := step.Patch(before, now)
	if err != nil {
		t.Fatal(err)
	}
	applyPatch(p, resize)
	applyPatch(p, patch)
	if !isChanging(p) || isAvailable(p, 0, now) {
		t.Errorf("changing: %v, available: %v, although its node has yet to restart it: %s",
			isChanging(p), isAvailable(p, 0, now), p.Annotations[v1.AnnotationInPlace])
	}
	if changedAt(p) != now {
		t.Errorf("changed at %v, so that minReadySeconds do not begin anew", changedAt(p))
	}
}
