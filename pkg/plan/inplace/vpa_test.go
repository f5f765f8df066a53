package inplace_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

var byVPA = Annotated("vpaUpdates", "Pod resources updated by web: container 0: cpu request")

// If a VerticalPodAutoscaler sets a pod's CPU and memory, an update in place leaves them alone. It still gives the pod its new revision.
func TestUpdateLeavesSizeToVPA(t *testing.T) {
	withImage := func(m *v1.PodManager) { m.Spec.Template.Spec.Containers[0].Image = "app:2" }
	from := RevisionFor(sizedManager("1", "1Gi"))
	for name, test := range map[string]struct {
		to      *v1.PodManager
		image   bool
		resizes bool // without VPA
	}{
		"CPU":              {to: sizedManager("2", "1Gi"), resizes: true},
		"CPU and an image": {to: sizedManager("2", "1Gi", withImage), image: true, resizes: true},
		"an image":         {to: sizedManager("1", "1Gi", withImage), image: true},
	} {
		for vpa, changes := range map[bool][]func(*corev1.Pod){true: {byVPA}, false: nil} {
			pod := Pod(0, append(changes, Labelled(v1.LabelRevision, from.Hash))...)
			pod.Spec.Containers = from.Template().DeepCopy().Spec.Containers
			update := Update{Pod: pod, Step: StepUpdate, From: from, To: RevisionFor(test.to)}
			begin, err := update.BeginPatch(Now)
			resize, err2 := update.ResizePatch()
			patch, err3 := update.Patch(test.to, Now)
			if err != nil || err2 != nil || err3 != nil {
				t.Fatal(err, err2, err3)
			}
			if want := test.resizes && !vpa; (begin != nil) != want || (resize != nil) != want {
				t.Errorf("%s, VPA %v: begins with %s and resizes with %s", name, vpa, begin, resize)
			}
			if !strings.Contains(string(patch), update.To.Hash) || strings.Contains(string(patch), "app:2") != test.image {
				t.Errorf("%s, VPA %v: %s", name, vpa, patch)
			}
			if got, want := update.NeedsKubelet(), test.image || test.resizes && !vpa; got != want {
				t.Errorf("%s, VPA %v: needs the kubelet: %v", name, vpa, got)
			}
		}
	}
}

// A resize by a VerticalPodAutoscaler does not make a pod unavailable. If the kubelet restarts a container for it, that does not count as a crash.
func TestResizeByVPA(t *testing.T) {
	deferred := Resizing(corev1.PodResizePending, corev1.PodReasonDeferred)
	infeasible := Resizing(corev1.PodResizePending, corev1.PodReasonInfeasible)
	for name, resizing := range map[string]func(*corev1.Pod){"deferred": deferred, "infeasible": infeasible, "in progress": Resizing(corev1.PodResizeInProgress, "")} {
		pod := Pod(0, InPlaceTo("v2", 0, 0), Runs("v2", "id-2", 1), resizing)
		if !IsUpdating(pod) || !podstate.IsResizing(pod) {
			t.Errorf("%s: not being resized by the controller", name)
		}
		if byVPA(pod); IsUpdating(pod) || podstate.ResizeTrouble(pod) != "" || podstate.IsInfeasible(pod) {
			t.Errorf("%s: counts as the controller's own resize", name)
		}
		if podstate.Trim(pod); IsUpdating(pod) {
			t.Errorf("%s: counts as the controller's own resize after Trim", name)
		}
	}
	pod := Pod(0, Runs("app:1", "id-1", 1), func(p *corev1.Pod) { p.Generation = 2 })
	if AllCrashes(pod) != 1 {
		t.Errorf("%d crashes without VPA", AllCrashes(pod))
	}
	if byVPA(pod); AllCrashes(pod) != 0 {
		t.Errorf("%d crashes by a resize", AllCrashes(pod))
	}
	if Runs("app:1", "id-1", 2)(pod); AllCrashes(pod) != 1 {
		t.Errorf("%d crashes, want 1 besides the resize", AllCrashes(pod))
	}
}

// A resize also changes the resources of the pod itself.
func TestPodLevelResize(t *testing.T) {
	with := func(cpu string) *v1.PodManager {
		return sizedManager("1", "1Gi", func(m *v1.PodManager) {
			all := Amounts(corev1.ResourceCPU, cpu, "4")
			m.Spec.Template.Spec.Resources = &all
		})
	}
	from, to := RevisionFor(with("1")), RevisionFor(with("2"))
	pod := Pod(0, Labelled(v1.LabelRevision, from.Hash))
	pod.Spec.Containers, pod.Spec.Resources = from.Template().Spec.Containers, from.Template().Spec.Resources
	update := Update{Pod: pod, Step: StepUpdate, From: from, To: to}
	resize, err := update.ResizePatch()
	if want := `"spec":{"resources":{"limits":{"cpu":"4"},"requests":{"cpu":"2"}}}`; err != nil || !strings.Contains(string(resize), want) {
		t.Errorf("%s %v, want %s", resize, err, want)
	}
	if !update.HasToResize(pod, update.Diff()) || !update.NeedsKubelet() {
		t.Error("nothing to resize")
	}
	pod.Spec.Resources = to.Template().Spec.Resources
	if update.HasToResize(pod, update.Diff()) {
		t.Error("the spec has the new amounts")
	}
	reported := Amounts(corev1.ResourceCPU, "1", "4")
	if pod.Status.Resources = &reported; !podstate.HasOtherResources(pod) {
		t.Error("the kubelet reports other amounts than the spec has")
	}
	if podstate.Trim(pod); !podstate.HasOtherResources(pod) {
		t.Error("Trim dropped them")
	}
	wanted := Amounts(corev1.ResourceMemory, "40Mi", "80Mi")
	reported = Amounts(corev1.ResourceMemory, "32Mi", "80Mi")
	if pod.Spec.Resources, pod.Status.Resources = &wanted, &reported; podstate.HasOtherResources(pod) {
		t.Error("waits for the pod's request for memory, which the kubelet does not report")
	}
}
