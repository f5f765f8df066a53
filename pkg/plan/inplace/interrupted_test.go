package inplace_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// sizedManager returns a PodManager with one pod that requests this CPU and memory. A resize of memory restarts the container.
func sizedManager(cpu, memory string, change ...func(*v1.PodManager)) *v1.PodManager {
	m := Manager(1, InPlace(v1.InPlaceOnly, 0), Limits("0", "1"), func(m *v1.PodManager) {
		m.Spec.Image = ""
		m.Spec.Template = TemplateWith(Sized(cpu, memory, ""), Policies(corev1.NotRequired, corev1.RestartContainer))
	})
	for _, c := range change {
		c(m)
	}
	return m
}

// interrupted returns a pod whose update from before's template to after's was interrupted after this many requests. carriedOut is whether the
// kubelet has carried out the resize.
func interrupted(before, after *v1.PodManager, requests int, carriedOut bool) *corev1.Pod {
	p := Pod(0, Runs("app:1", "id-1", 0), Labelled(v1.LabelRevision, RevisionFor(before).Hash))
	p.Spec.Containers = before.Spec.Template.DeepCopy().Spec.Containers
	p.Generation, p.Status.ObservedGeneration = 1, 1
	step := Update{Pod: p, Step: StepUpdate, From: RevisionFor(before), To: RevisionFor(after)}
	begin, _ := step.BeginPatch(Now)
	ApplyPatch(p, begin)
	if requests == 2 {
		resize, _ := step.ResizePatch()
		ApplyPatch(p, resize)
		if carriedOut {
			Runs("app:1", "id-1", 1)(p)
			p.Status.ObservedGeneration = p.Generation
		}
	}
	return p
}

// An update with a resize takes three requests. The controller may die after the first or the second, and the spec may change before the next sync.
// In the end, the pod has what its revision label says, and nothing waits for a restart that never happens.
func TestInterruptedResize(t *testing.T) {
	before, after := sizedManager("1", "1Gi"), sizedManager("1", "2Gi")
	tests := map[string]struct {
		manager *v1.PodManager
		want    string
		// restarts is how often the kubelet may restart the container at most.
		restarts int32
	}{
		"the update is completed":             {manager: after, want: "Update 0", restarts: 1},
		"the spec is reverted":                {manager: sizedManager("1", "1Gi"), want: "Restore 0", restarts: 2},
		"the spec is a third one":             {manager: sizedManager("3", "1Gi"), want: "Update 0", restarts: 2},
		"the rollout is paused":               {manager: sizedManager("1", "2Gi", Paused), want: "Restore 0", restarts: 2},
		"the partition was raised":            {manager: sizedManager("1", "2Gi", Partition("1")), want: "Restore 0", restarts: 2},
		"pods are no longer updated in place": {manager: sizedManager("1", "1Gi", InPlace(v1.RecreatePods, 0)), want: "Restore 0", restarts: 2},
		"a surge pod has to be created first": {manager: sizedManager("1", "2Gi", Limits("1", "0")), want: "+1 new"},
	}
	for name, test := range tests {
		for _, at := range []struct {
			requests             int
			observed, carriedOut bool
		}{{requests: 1}, {requests: 2}, {requests: 2, observed: true}, {requests: 2, observed: true, carriedOut: true}} {
			t.Run(fmt.Sprintf("%s, after %d requests, observed %v, carried out %v", name, at.requests, at.observed, at.carriedOut), func(t *testing.T) {
				p := interrupted(before, after, at.requests, at.carriedOut)
				isBehind := at.requests == 2 && !at.observed
				if at.observed {
					p.Status.ObservedGeneration = p.Generation
				}
				o := Observe(test.manager, p)
				if base := Stored(before, 1); base.Name != o.Revisions[0].Name {
					o.Revisions = append(o.Revisions, base)
					o.Manager.Status.CurrentRevision = base.Name
				}
				plan, want, restarts := plan.Make(o), test.want, test.restarts
				switch {
				case isBehind && want == "Update 0":
					want = "" // the kubelet has to see the resize first
				case isBehind && restarts == 0:
					want += ", Restore 0" // the pod is already unavailable
				case restarts == 2 && at.requests == 1:
					restarts = 0
				}
				if got := ActionsOf(plan); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
				if test.restarts > 0 && want != "" {
					checkCompleted(t, plan.Update[0], test.manager, restarts)
				}
			})
		}
	}
}

// An update that has begun is not reverted because another pod is unavailable for a moment. It continues when that pod is available again. It is
// reverted if the other pod stays unavailable for half a minute.
func TestInterruptedWaitsForAnotherPod(t *testing.T) {
	before, after := sizedManager("1", "1Gi"), sizedManager("2", "1Gi")
	after.Spec.Replicas = new(int32(2))
	tests := map[string]struct {
		other func(*corev1.Pod)
		later time.Duration
		want  string
		again time.Duration
	}{
		"the other is available":                           {other: func(*corev1.Pod) {}, want: "Update 0"},
		"the other is unavailable":                         {other: NotReady, later: 10 * time.Second, again: 30 * time.Second},
		"the other has been unavailable for half a minute": {other: NotReady, later: 30 * time.Second, want: "Restore 0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			other := Pod(1, Runs("app:1", "id-1", 0), Labelled(v1.LabelRevision, RevisionFor(after).Hash), test.other)
			other.Spec.Containers = after.Spec.Template.DeepCopy().Spec.Containers
			o := Observe(after, interrupted(before, after, 1, false), other)
			o.Revisions = append(o.Revisions, Stored(before, 1))
			o.Manager.Status.CurrentRevision = o.Revisions[1].Name
			o.Now = Now.Add(test.later)
			plan := plan.Make(o)
			if got := ActionsOf(plan); got != test.want || Until(plan.Again) != test.again {
				t.Errorf("got %q, again %v; want %q, again %v", got, plan.Again, test.want, test.again)
			}
		})
	}
}

// checkCompleted sends the requests of a step, lets the kubelet carry it out, and checks that the pod has what its revision says.
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
	done := p.Status.ContainerStatuses[0].RestartCount
	if restarts == 1 || done == 1 { // the kubelet restarts the container to resize it, or to revert what it has carried out
		Runs("app:1", "id-1", restarts)(p)
	}
	got, want := p.Spec.Containers[0].Resources, step.To.Template().Spec.Containers[0].Resources
	if !equality.Semantic.DeepEqual(got, want) || p.Labels[v1.LabelRevision] != step.To.Hash || IsInterrupted(p) {
		t.Errorf("the pod has %v and revision %s, want %v", got, p.Labels[v1.LabelRevision], want)
	}
	if IsUpdating(p) {
		t.Errorf("still updating, although the kubelet has nothing left to do: %s", p.Annotations[v1.AnnotationInPlace])
	}
	restarts = min(restarts, int32(p.Generation-1)) // the kubelet never restarts the container for a spec that the pod never had
	for count := range restarts + 3 {
		Runs("app:1", "id-1", count)(p)
		// It is unknown whether one more restart happened before the update.
		if failed := HasFailed(p); failed && count <= restarts || !failed && count > restarts+1 {
			t.Errorf("%d restarts, of which at most %d are for the update, count as a failure: %v", count, restarts, failed)
		}
	}
}

// The controller has restored the pod after an interrupted update. Before the kubelet has carried out the restore, the same update is wanted again.
// The pod then already has the resources of the update, and the kubelet has nothing to do.
func TestWantedAgainAfterRestore(t *testing.T) {
	before, after := sizedManager("1", "1Gi"), sizedManager("1", "2Gi")
	for name, report := range map[string]func(*corev1.Pod){
		"the kubelet has not observed the restore":   func(*corev1.Pod) {},
		"the kubelet reports no observed generation": func(p *corev1.Pod) { p.Status.ObservedGeneration = 0 },
		"the kubelet has failed to resize": func(p *corev1.Pod) {
			p.Status.ObservedGeneration = p.Generation
			Resizing(corev1.PodResizeInProgress, corev1.PodReasonError)(p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, one, two := interrupted(before, after, 2, true), RevisionFor(before), RevisionFor(after)
			restore(t, p, before)
			if report(p); podstate.IsResizing(p) && !MayRestart(p) {
				t.Errorf("MayRestart is false: %s", p.Annotations[v1.AnnotationInPlace])
			}
			updateTo(t, p, one, two)
			DropCondition(p, corev1.PodResizeInProgress)
			if p.Status.ObservedGeneration = p.Generation; IsUpdating(p) {
				t.Errorf("still updating, although the kubelet has nothing left to do: %s", p.Annotations[v1.AnnotationInPlace])
			}
		})
	}
}

// A pod that is restored has its revision for as long as before.
func TestRestoreChangesNoRevision(t *testing.T) {
	before, after := sizedManager("1", "1Gi"), sizedManager("1", "2Gi")
	created := interrupted(before, after, 2, true)
	updated := interrupted(before, after, 2, true)
	updateTo(t, updated, RevisionFor(before), RevisionFor(after))
	at := Now.Add(-time.Hour)
	updated.Annotations[v1.AnnotationInPlace] = strings.Replace(updated.Annotations[v1.AnnotationInPlace], Now.Format(time.RFC3339), at.Format(time.RFC3339), 1)
	for name, test := range map[string]struct {
		pod    *corev1.Pod
		before *v1.PodManager
		want   time.Time
	}{"created": {created, before, time.Time{}}, "updated": {updated, after, at}} {
		for range 2 {
			if restore(t, test.pod, test.before); !RevisedAt(test.pod).Equal(test.want) || !UpdatedAt(test.pod).Equal(Now) {
				t.Errorf("%s: it has its revision since %v, want %v: %s", name, RevisedAt(test.pod), test.want, test.pod.Annotations[v1.AnnotationInPlace])
			}
		}
	}
}

// restore sends the requests of StepRestore, which give a pod whose update was interrupted its previous resources.
func restore(t *testing.T, p *corev1.Pod, before *v1.PodManager) {
	t.Helper()
	step := Update{Pod: p, Step: StepRestore, From: RevisionFor(before), To: RevisionFor(before)}
	resize, err := step.ResizePatch()
	if err != nil {
		t.Fatal(err)
	}
	patch, err := step.Patch(before, Now)
	if err != nil {
		t.Fatal(err)
	}
	if resize != nil {
		ApplyPatch(p, resize)
	}
	ApplyPatch(p, patch)
}

// Like TestWantedAgainAfterRestore, but the kubelet reports only that it has seen each request. It does not report that a resize is pending or in
// progress, and the container keeps the memory of the first request.
func TestWantedAgainAfterSilentRestore(t *testing.T) {
	before, after := sizedManager("1", "1Gi"), sizedManager("1", "2Gi")
	p := interrupted(before, after, 2, true)
	restore(t, p, before)
	see := func() {
		p.Status.ObservedGeneration = p.Generation
		p.Status.ContainerStatuses[0].Resources = new(Amounts(corev1.ResourceMemory, "2Gi", ""))
	}
	see()
	again := Update{Pod: p, Step: StepUpdate, From: RevisionFor(before), To: RevisionFor(after)}
	beginUpdate(t, again)
	see()
	patch, err := again.Patch(after, Now)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, patch)
	if see(); IsUpdating(p) {
		t.Errorf("still updating, although the kubelet has nothing left to do: %s", p.Annotations[v1.AnnotationInPlace])
	}
}

// beginUpdate sends all requests of an update but the last.
func beginUpdate(t *testing.T, step Update) {
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

// An update that begins after another one was interrupted gets a record of its own: it may restart containers that the interrupted one does not
// restart.
func TestBegunAfterAnother(t *testing.T) {
	one, two, three := RevisionFor(sizedManager("1", "1Gi")), RevisionFor(sizedManager("2", "1Gi")), RevisionFor(sizedManager("2", "2Gi"))
	p := Pod(0, Labelled(v1.LabelRevision, one.Hash), Runs("app:1", "id-1", 0))
	p.Spec, p.Generation = *one.Template().Spec.DeepCopy(), 1
	beginUpdate(t, Update{Pod: p, Step: StepUpdate, From: one, To: two})
	beginUpdate(t, Update{Pod: p, Step: StepUpdate, From: one, To: three})
	if !MayRestart(p) {
		t.Errorf("MayRestart is false: %s", p.Annotations[v1.AnnotationInPlace])
	}
	Runs("app:1", "id-1", 1)(p)
	p.Status.ObservedGeneration = p.Generation
	updateTo(t, p, one, three)
	if IsUpdating(p) || HasFailed(p) {
		t.Errorf("updating %v, failed %v: %s", IsUpdating(p), HasFailed(p), p.Annotations[v1.AnnotationInPlace])
	}
}

// The kubelet has carried out the resize of an interrupted update. The next update wants the same memory, and is interrupted, too. If the controller
// then restores the memory of the pod's revision, the kubelet has to restart the container.
func TestBegunAfterAnotherResize(t *testing.T) {
	before, after := sizedManager("1", "1Gi"), sizedManager("1", "2Gi")
	p := interrupted(before, after, 2, true)
	begin, err := Update{Pod: p, Step: StepUpdate, From: RevisionFor(before), To: RevisionFor(sizedManager("2", "2Gi"))}.BeginPatch(Now)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, begin)
	if !MayRestart(p) {
		t.Errorf("MayRestart is false: %s", p.Annotations[v1.AnnotationInPlace])
	}
}

// The kubelet has yet to restart a container for an update that changes its image. Meanwhile, a second update returns to the earlier image. It is
// interrupted before its resize, and then reverted. The kubelet still has to restart the container for the first update.
func TestInterruptedRevert(t *testing.T) {
	withImage := func(m *v1.PodManager) { m.Spec.Template.Spec.Containers[0].Image = "app:2" }
	before, after := sizedManager("1", "1Gi"), sizedManager("1", "2Gi", withImage)
	p := interrupted(before, after, 2, true)
	updateTo(t, p, RevisionFor(before), RevisionFor(after))
	p.Status.ObservedGeneration = p.Generation
	begin, err := Update{Pod: p, Step: StepResize, From: RevisionFor(after), To: RevisionFor(before)}.BeginPatch(Now)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, begin)
	restore(t, p, after)
	if !IsUpdating(p) {
		t.Errorf("the kubelet has yet to restart the container: %s", p.Annotations[v1.AnnotationInPlace])
	}
}

// The kubelet has yet to restart a container for a resize. Meanwhile, a second update reverts the resize, and is interrupted before it does. A third
// update keeps the memory and changes the image. The kubelet has to restart the container for that.
func TestBegunAfterRevert(t *testing.T) {
	withImage := func(m *v1.PodManager) { m.Spec.Template.Spec.Containers[0].Image = "app:2" }
	one, two, three := RevisionFor(sizedManager("1", "1Gi")), RevisionFor(sizedManager("1", "2Gi")), RevisionFor(sizedManager("2", "2Gi", withImage))
	p := Pod(0, Labelled(v1.LabelRevision, one.Hash), Runs("app:1", "id-1", 0))
	p.Spec, p.Generation = *one.Template().Spec.DeepCopy(), 1
	updateTo(t, p, one, two)
	p.Status.ObservedGeneration = p.Generation
	begin, err := Update{Pod: p, Step: StepResize, From: two, To: one}.BeginPatch(Now)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, begin)
	Runs("app:1", "id-1", 1)(p)
	updateTo(t, p, two, three)
	if p.Status.ObservedGeneration = p.Generation; !IsUpdating(p) {
		t.Errorf("the kubelet has yet to restart the container: %s", p.Annotations[v1.AnnotationInPlace])
	}
}

// An update is interrupted after its resize, before the kubelet has started the container. The container then starts with the new amounts. The next
// update changes only CPU, so the kubelet does not restart the container. The record of the interrupted update cannot show that, because it was
// written before the container started.
func TestBegunBeforeStart(t *testing.T) {
	one, two, three := RevisionFor(sizedManager("1", "1Gi")), RevisionFor(sizedManager("1", "2Gi")), RevisionFor(sizedManager("2", "2Gi"))
	p := Pod(0, Labelled(v1.LabelRevision, one.Hash))
	p.Spec, p.Generation = *one.Template().Spec.DeepCopy(), 1
	beginUpdate(t, Update{Pod: p, Step: StepUpdate, From: one, To: two})
	Runs("app:1", "id-1", 0)(p)
	p.Status.ObservedGeneration = p.Generation
	updateTo(t, p, one, three)
	if p.Status.ObservedGeneration = p.Generation; IsUpdating(p) {
		t.Errorf("still updating, although the kubelet has nothing left to do: %s", p.Annotations[v1.AnnotationInPlace])
	}
}

// A refused update is not retried, even if the API server had accepted its resize: CPU and memory are restored.
func TestRefusedAfterResize(t *testing.T) {
	from, to := RevisionWith("one", TemplateWith()), RevisionWith("two", TemplateWith(Needs(Amounts("cpu", "2", ""))))
	p := Pod(3, Labelled(v1.LabelRevision, "one"))
	p.Spec = *from.Template().Spec.DeepCopy()
	step := Update{Pod: p, Step: StepUpdate, From: from, To: to}
	patch, err := step.RefusalPatch(requeue.Failure{Reason: v1.ReasonInvalidPod, Message: "no"}, true, Now)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, patch)
	if !IsInterrupted(p) || RefusalOf(p, "two") != "no" {
		t.Fatalf("begun %v, refused %q", IsInterrupted(p), RefusalOf(p, "two"))
	}
	if patch, err = (Update{Pod: p, Step: StepRestore, From: from, To: from}).Patch(Manager(3), Now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, patch)
	if IsInterrupted(p) || RefusalOf(p, "two") != "no" || p.Labels[v1.LabelRevision] != "one" {
		t.Errorf("restored: begun %v, refused %q, revision %s", IsInterrupted(p), RefusalOf(p, "two"), p.Labels[v1.LabelRevision])
	}
}
