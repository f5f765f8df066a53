package plan_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// A controller that may patch neither pods/resize nor pods/status plans no such request: it replaces pods, or reports why it does not.
func TestWithoutResizeAndDrain(t *testing.T) {
	one := Limits("0", "1")
	possible, only := InPlace(v1.InPlaceIfPossible, 0), InPlace(v1.InPlaceOnly, 0)
	graceful, onlyGraceful := InPlace(v1.InPlaceIfPossible, 30), InPlace(v1.InPlaceOnly, 30)
	sized := func(cpu string, change ...func(*v1.PodManager)) *v1.PodManager {
		m := Manager(2, append(change, one)...)
		m.Spec.Image, m.Spec.Template = "", TemplateWith(Needs(Amounts(corev1.ResourceCPU, cpu, "")))
		return m
	}
	resize := func(change ...func(*v1.PodManager)) Observed {
		from := RevisionFor(sized("1"))
		pods := []*corev1.Pod{Pod(0, Labelled(v1.LabelRevision, from.Hash)), Pod(1, Labelled(v1.LabelRevision, from.Hash))}
		o := RollingOut(sized("2", change...), pods...)
		o.Revisions[0] = Stored(sized("1"), 1)
		o.Manager.Status.CurrentRevision = from.Name
		return o
	}
	closed := Gated(corev1.ConditionFalse, time.Minute)
	tests := map[string]struct {
		observed Observed
		// want is what the limited controller plans, and capable what a controller with all rights plans.
		want, capable string
		// ready is part of the message of the Ready condition.
		ready string
	}{
		"a resize":                            {resize(possible), "+2 new, -1", "Update 1", ""},
		"a resize, InPlaceOnly":               {resize(only), "", "Update 1", "web-0: " + inplace.WhyNoResize},
		"an image":                            {RollingOut(Next(2, possible, one), Pods3()[:2]...), "Update 1", "Update 1", ""},
		"a grace period":                      {RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, Open)), "Update 1", "Drain 1", "web-0 and 1 more: updated without being taken out of service first: " + inplace.WhyNoResize},
		"a grace period, InPlaceOnly":         {RollingOut(Next(2, onlyGraceful, one), Pod(0, Open), Pod(1)), "Update 1", "Update 1", inplace.WhyNoResize},
		"a gate that is closed":               {RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, NotReady, closed)), "+2 new, -1", "Update 1", ""},
		"a gate that is closed, InPlaceOnly":  {RollingOut(Next(2, onlyGraceful, one), Pod(0, Open), Pod(1, NotReady, closed)), "", "Update 1", "web-1: " + inplace.WhyNoResize},
		"a gate to open":                      {Observe(Manager(1, graceful), Pod(0, NotReady, closed)), "", "Open 0", ""},
		"an update that has begun":            {RollingOut(Next(1, Paused, possible, one), Pod(0, Annotated(v1.AnnotationInPlace, `{"revision":"x","begun":true}`))), "", "Restore 0", ""},
		"an update that has begun, to finish": {RollingOut(Next(1, possible, one), Pod(0, Annotated(v1.AnnotationInPlace, `{"revision":"x","begun":true}`))), "+1 new, -0", "Update 0", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ActionsOf(Make(test.observed)); got != test.capable {
				t.Errorf("with all capabilities: got %q, want %q", got, test.capable)
			}
			test.observed.Capabilities = inplace.Capabilities{}
			decided := Make(test.observed)
			if got := ActionsOf(decided); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			report := decided.Report(test.observed.Manager, test.observed.Pods, true, Now)
			if got, _ := status.Compute(report); !strings.Contains(MessageIn(&got, v1.ConditionReady), test.ready) {
				t.Errorf("Ready says %q, want %q in it", MessageIn(&got, v1.ConditionReady), test.ready)
			}
		})
	}
}

// A new pod gets no gate if the controller could not open it.
func TestNoGatesWithoutDrains(t *testing.T) {
	for _, capabilities := range []inplace.Capabilities{{}, {CanResizeAndDrain: true}} {
		o := Observe(Manager(1, InPlace(v1.InPlaceIfPossible, 30)))
		o.Capabilities = capabilities
		if pod := NewPod(o.Manager, Make(o).Create[0]); podstate.HasGate(pod) != capabilities.CanResizeAndDrain {
			t.Errorf("%+v: the gates are %v", capabilities, pod.Spec.ReadinessGates)
		}
	}
}
