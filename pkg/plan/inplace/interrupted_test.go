package inplace_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// memoryOf is a PodManager of one pod that asks for so much CPU and memory. Memory takes a restart.
func memoryOf(cpu, memory string, change ...func(*v1.PodManager)) *v1.PodManager {
	m := Manager(1, InPlace(v1.InPlaceOnly, 0), Limits("0", "1"), func(m *v1.PodManager) {
		m.Spec.Image = ""
		m.Spec.Template = TemplateWith(sized(cpu, memory, ""), policies(corev1.NotRequired, corev1.RestartContainer))
	})
	for _, c := range change {
		c(m)
	}
	return m
}

// interrupted is a pod whose change from one PodManager's template to another's has finished after so many requests; its node may
// have followed them.
func interrupted(before, after *v1.PodManager, requests int, followed bool) *corev1.Pod {
	p := Pod(0, Runs("app:1", "id-1", 0), Labelled(v1.LabelRevision, RevisionFor(before).Hash))
	p.Spec.Containers = before.Spec.Template.DeepCopy().Spec.Containers
	p.Generation, p.Status.ObservedGeneration = 1, 1
	step := Update{Pod: p, Step: StepUpdate, From: RevisionFor(before), To: RevisionFor(after)}
	begin, _ := step.BeginPatch(Now)
	ApplyPatch(p, begin)
	if requests == 2 {
		resize, _ := step.ResizePatch()
		ApplyPatch(p, resize)
		if followed {
			Runs("app:1", "id-1", 1)(p)
			p.Status.ObservedGeneration = p.Generation
		}
	}
	return p
}

// A resize takes three requests. Whoever does it may die after the first or the second, and the spec may be another one when
// the next comes: in the end the pod is what its label says, and nothing is waited for that does not come.
func TestInterruptedResize(t *testing.T) {
	before, after := memoryOf("1", "1Gi"), memoryOf("1", "2Gi")
	tests := map[string]struct {
		manager *v1.PodManager
		want    string
		// restarts is how often the container may be restarted for that, at the most.
		restarts int32
	}{
		"it is completed":               {manager: after, want: "Update 0", restarts: 1},
		"the spec was put back":         {manager: memoryOf("1", "1Gi"), want: "Restore 0", restarts: 2},
		"the spec is a third one":       {manager: memoryOf("3", "1Gi"), want: "Update 0", restarts: 2},
		"the rollout is paused":         {manager: memoryOf("1", "2Gi", Paused), want: "Restore 0", restarts: 2},
		"the partition was raised":      {manager: memoryOf("1", "2Gi", Partition("1")), want: "Restore 0", restarts: 2},
		"pods are no longer changed so": {manager: memoryOf("1", "1Gi", InPlace(v1.RecreatePods, 0)), want: "Restore 0", restarts: 2},
		"another one has to come first": {manager: memoryOf("1", "2Gi", Limits("1", "0")), want: "+1 new"},
	}
	for name, test := range tests {
		for _, at := range []struct {
			requests int
			followed bool
		}{{1, false}, {2, false}, {2, true}} {
			t.Run(fmt.Sprintf("%s, after %d requests, followed %v", name, at.requests, at.followed), func(t *testing.T) {
				p := interrupted(before, after, at.requests, at.followed)
				o := Observe(test.manager, p)
				if base := Stored(before, 1); base.Name != o.Revisions[0].Name {
					o.Revisions = append(o.Revisions, base)
					o.Manager.Status.CurrentRevision = base.Name
				}
				plan, want := plan.Make(o), test.want
				if test.restarts == 0 && at.requests == 2 && !at.followed {
					want += ", Restore 0" // it does not serve anyway
				}
				if got := MovesOf(plan); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
				if test.restarts > 0 {
					checkCompleted(t, plan.Update[0], test.manager, test.restarts)
				}
			})
		}
	}
}

// checkCompleted makes a change, lets the node follow, and looks whether the pod is what its revision says.
func checkCompleted(t *testing.T, step Update, m *v1.PodManager, restarts int32) {
	t.Helper()
	p := step.Pod
	resize, err := step.ResizePatch()
	if err != nil || resize == nil {
		t.Fatalf("nothing is resized: %v", err)
	}
	patch, err := step.Patch(m, Now)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, resize)
	ApplyPatch(p, patch)
	p.Status.ObservedGeneration = p.Generation
	if restarts == 1 { // a node that has not restarted it is to do so
		Runs("app:1", "id-1", 1)(p)
	}
	got, want := p.Spec.Containers[0].Resources, step.To.Template().Spec.Containers[0].Resources
	if !equality.Semantic.DeepEqual(got, want) || p.Labels[v1.LabelRevision] != step.To.Hash || HasBegun(p) {
		t.Errorf("it has %v and revision %s, which says %v", got, p.Labels[v1.LabelRevision], want)
	}
	if IsUpdating(p) {
		t.Errorf("it waits for something that does not come: %s", p.Annotations[v1.AnnotationInPlace])
	}
	restarts = min(restarts, int32(p.Generation-1)) // a node restarts nothing for a spec that it was never given
	for count := range restarts + 3 {
		Runs("app:1", "id-1", count)(p)
		// Nobody can tell whether one more was seen before the node had begun.
		if failed := HasFailed(p); failed && count <= restarts || !failed && count > restarts+1 {
			t.Errorf("%d restarts, at most %d are for the change, count as a failure: %v", count, restarts, failed)
		}
	}
}

// What a node may have got for a change that was interrupted and undone is wanted again, before the node has undone it: it has
// nothing to do then.
func TestWantedAgainAfterRestore(t *testing.T) {
	before, after := memoryOf("1", "1Gi"), memoryOf("1", "2Gi")
	for name, says := range map[string]func(*corev1.Pod){
		"its node has not seen it": func(*corev1.Pod) {},
		"its node does not tell":   func(p *corev1.Pod) { p.Status.ObservedGeneration = 0 },
		"its node has failed to": func(p *corev1.Pod) {
			p.Status.ObservedGeneration = p.Generation
			Resizing(corev1.PodResizeInProgress, corev1.PodReasonError)(p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, one, two := interrupted(before, after, 2, true), RevisionFor(before), RevisionFor(after)
			restore := Update{Pod: p, Step: StepRestore, From: one, To: one}
			resize, err := restore.ResizePatch()
			if err != nil {
				t.Fatal(err)
			}
			patch, err := restore.Patch(before, Now)
			if err != nil {
				t.Fatal(err)
			}
			ApplyPatch(p, resize)
			ApplyPatch(p, patch)
			if says(p); podstate.IsResizing(p) && !MayRestart(p) {
				t.Errorf("it may not be restarted: %s", p.Annotations[v1.AnnotationInPlace])
			}
			updateTo(t, p, one, two)
			DropCondition(p, corev1.PodResizeInProgress)
			if p.Status.ObservedGeneration = p.Generation; IsUpdating(p) {
				t.Errorf("it waits for something that does not come: %s", p.Annotations[v1.AnnotationInPlace])
			}
		})
	}
}

// beginChange sends all requests of a change but the last.
func beginChange(t *testing.T, step Update) {
	t.Helper()
	for _, patch := range []func() ([]byte, error){func() ([]byte, error) { return step.BeginPatch(Now) }, step.ResizePatch} {
		data, err := patch()
		if err != nil {
			t.Fatal(err)
		}
		if data != nil {
			ApplyPatch(step.Pod, data)
		}
	}
}

// A change that begins where another one had begun is noted as well: it may restart what the other one does not.
func TestBegunAfterAnother(t *testing.T) {
	one, two, three := RevisionFor(memoryOf("1", "1Gi")), RevisionFor(memoryOf("2", "1Gi")), RevisionFor(memoryOf("2", "2Gi"))
	p := Pod(0, Labelled(v1.LabelRevision, one.Hash), Runs("app:1", "id-1", 0))
	p.Spec, p.Generation = *one.Template().Spec.DeepCopy(), 1
	beginChange(t, Update{Pod: p, Step: StepUpdate, From: one, To: two})
	beginChange(t, Update{Pod: p, Step: StepUpdate, From: one, To: three})
	if !MayRestart(p) {
		t.Errorf("it may not be restarted: %s", p.Annotations[v1.AnnotationInPlace])
	}
	Runs("app:1", "id-1", 1)(p)
	p.Status.ObservedGeneration = p.Generation
	updateTo(t, p, one, three)
	if IsUpdating(p) || HasFailed(p) {
		t.Errorf("waits %v, failed %v: %s", IsUpdating(p), HasFailed(p), p.Annotations[v1.AnnotationInPlace])
	}
}

// A container that was not started when a change of it began is started with what its pod is to have by then: nothing that it
// had tells what it takes to get that.
func TestBegunBeforeStart(t *testing.T) {
	one, two, three := RevisionFor(memoryOf("1", "1Gi")), RevisionFor(memoryOf("1", "2Gi")), RevisionFor(memoryOf("2", "2Gi"))
	p := Pod(0, Labelled(v1.LabelRevision, one.Hash))
	p.Spec, p.Generation = *one.Template().Spec.DeepCopy(), 1
	beginChange(t, Update{Pod: p, Step: StepUpdate, From: one, To: two})
	Runs("app:1", "id-1", 0)(p)
	p.Status.ObservedGeneration = p.Generation
	updateTo(t, p, one, three)
	if p.Status.ObservedGeneration = p.Generation; IsUpdating(p) {
		t.Errorf("it waits for something that does not come: %s", p.Annotations[v1.AnnotationInPlace])
	}
}

// A refused change is not tried again, also where CPU and memory had gone through before: they are restored.
func TestRefusedAfterResize(t *testing.T) {
	from, to := RevisionWith("one", TemplateWith()), RevisionWith("two", TemplateWith(needs(Amounts("cpu", "2", ""))))
	p := Pod(3, Labelled(v1.LabelRevision, "one"))
	p.Spec = *from.Template().Spec.DeepCopy()
	step := Update{Pod: p, Step: StepUpdate, From: from, To: to}
	patch, err := step.RefusalPatch("no", true)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, patch)
	if !HasBegun(p) || RefusalOf(p, "two") != "no" {
		t.Fatalf("begun %v, refused %q", HasBegun(p), RefusalOf(p, "two"))
	}
	if patch, err = (Update{Pod: p, Step: StepRestore, From: from, To: from}).Patch(Manager(3), Now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, patch)
	if HasBegun(p) || RefusalOf(p, "two") != "no" || p.Labels[v1.LabelRevision] != "one" {
		t.Errorf("restored: begun %v, refused %q, revision %s", HasBegun(p), RefusalOf(p, "two"), p.Labels[v1.LabelRevision])
	}
}
