package plan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

func closed(p *corev1.Pod) { NotReady(p); Gated(corev1.ConditionFalse, time.Minute)(p) }

func refusedChange(p *corev1.Pod) {
	note := `{"revision":"` + RevisionFor(Next(0)).Hash + `","refused":"no such thing"}`
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1.AnnotationInPlace, note)
}

// mayBeRestarted makes a pod one that is restarted once its node has the memory for it.
func mayBeRestarted(p *corev1.Pod) {
	OfImage("v2")(p)
	Runs("v2", "id", 0)(p)
	Resizing(corev1.PodResizePending, corev1.PodReasonDeferred)(p)
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1.AnnotationInPlace,
		`{"revision":"`+p.Labels[v1.LabelRevision]+`","containers":{"app":{"imageID":"id","had":{"requests":{"memory":"1Gi"}}}}}`)
}

func TestInPlaceMoves(t *testing.T) {
	only, possible := InPlace(v1.InPlaceOnly, 0), InPlace(v1.InPlaceIfPossible, 0)
	graceful := InPlace(v1.InPlaceIfPossible, 30)
	env := func(m *v1.PodManager) {
		m.Spec.Template = history.Template(&m.Spec).DeepCopy()
		m.Spec.Image = ""
		m.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A"}}
	}
	one := Limits("0", "1")
	rollback := OnFailure(v1.RollbackOnFailure)
	changed := func(index int, change ...func(*corev1.Pod)) *corev1.Pod {
		return Pod(index, append(change, InPlaceTo("v2", 0, time.Hour), Runs("v2", "id-after", 1))...)
	}
	infeasible := Resizing(corev1.PodResizePending, corev1.PodReasonInfeasible)
	tests := map[string]struct {
		observed Observed
		want     string
		again    time.Duration
	}{
		"pods are changed instead of replaced": {
			observed: RollingOut(Next(3, possible, Limits("0", "2")), Pods3()...),
			want:     "Update 2, Update 1",
		},
		"one after the other, if none may be missing: with a pod beside them": {
			observed: RollingOut(Next(3, possible, Limits("1", "0")), Pods3()...),
			want:     "+3 new",
		},
		"which makes room": {
			observed: RollingOut(Next(3, possible, Limits("1", "0")), Pod(0), Pod(1), Pod(2), Pod(3, V2)),
			want:     "Update 2",
		},
		"and goes in the end, not one that was changed": {
			observed: RollingOut(Next(2, possible, Limits("1", "0")), Pod(0, V2), Pod(1, V2), Pod(3, V2, CreatedAgo(time.Minute))),
			want:     "-3",
		},
		"nor before one that is to go, for which it was made": {
			observed: RollingOut(Next(2, possible, Limits("1", "0")), changed(0), changed(1, Marked), Pod(3, V2, NotReady)),
		},
		"that one goes when it is ready": {
			observed: RollingOut(Next(2, possible, Limits("1", "0")), changed(0), changed(1, Marked), Pod(3, V2)),
			want:     "-1",
		},
		"a pod that is being changed is waited for": {
			observed: RollingOut(Next(3, possible, one), Pod(0), Pod(1), Pod(2, InPlaceTo("v2", 0, time.Second), Runs("nginx", "id-before", 0))),
		},
		"the next one": {
			observed: RollingOut(Next(3, possible, one), Pod(0), Pod(1), Pod(2, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1))),
			want:     "Update 1",
		},
		"what cannot be changed is replaced": {
			observed: RollingOut(Next(3, env, possible, one), Pods3()...),
			want:     "+3 new, -2",
		},
		"or not, if the user says so": {
			observed: RollingOut(Next(3, env, only, one), Pods3()...),
		},
		"pods that are missing are made all the same": {
			observed: RollingOut(Next(3, only, one), Pod(0), Pod(1)),
			want:     "+2 new",
		},
		"a refused change is not tried again": {
			observed: RollingOut(Next(1, possible, one), Pod(1, refusedChange)),
			want:     "+0 new, -1",
		},
		"nor, if nothing else is allowed, any other": {
			observed: RollingOut(Next(2, only, one), Pod(0), Pod(1, refusedChange)),
		},
		"a node that cannot: the pod is replaced": {
			observed: RollingOut(Next(2, possible, one), Pod(0), Pod(1, InPlaceTo("v2", 0, time.Second), infeasible)),
			want:     "+2 new, -1",
		},
		"a node that cannot: or the rollout is refused": {
			observed: RollingOut(Next(2, only, one), Pod(0), Pod(1, InPlaceTo("v2", 0, time.Second), infeasible)),
		},
		"a node that cannot yet is waited for": {
			observed: RollingOut(Next(2, possible, one), Pod(0), Pod(1, InPlaceTo("v2", 0, time.Second), Resizing(corev1.PodResizePending, corev1.PodReasonDeferred))),
		},
		"a pod that serves while it waits is a reason to wait, too": {
			observed: RollingOut(Next(3, possible, Limits("0", "1")), Pod(0), Pod(1), Pod(2, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1),
				Resizing(corev1.PodResizePending, corev1.PodReasonDeferred))),
		},
		"more so if it may be restarted at any time": {
			observed: RollingOut(Next(3, possible, Limits("2", "1")), Pod(0), Pod(1), Pod(2, mayBeRestarted)),
		},
		"it is not spared for that": {
			observed: RollingOut(Next(3, possible, Limits("2", "1"), Partition("100%")), Pod(0), Pod(1), Pod(2, mayBeRestarted)),
			want:     "Update 2",
		},
		"first the pod leaves its Services": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, Open)),
			want:     "Drain 1",
		},
		"then the grace period passes": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, NotReady, Gated(corev1.ConditionFalse, 10*time.Second))),
			again:    20 * time.Second,
		},
		"then it is changed": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, NotReady, Gated(corev1.ConditionFalse, 30*time.Second))),
			want:     "Update 1",
		},
		"a pod that has left its Services comes first": {
			observed: RollingOut(Next(3, graceful, one), Pod(0, NotReady, Gated(corev1.ConditionFalse, 30*time.Second)),
				Pod(1, Phase(corev1.PodPending), OnNode(""), Gated(corev1.ConditionTrue, time.Hour)), Pod(2, Open)),
			want: "Update 0",
		},
		"it need not wait out of service for CPU that its node does not have": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, closed, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1),
				Resizing(corev1.PodResizePending, corev1.PodReasonDeferred))),
			want: "Open 1",
		},
		"while its node is at it, it stays out": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, closed, InPlaceTo("v2", 0, time.Second), Runs("nginx", "id-before", 0))),
		},
		"then it is let back": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, closed, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1))),
			want:     "Open 1",
		},
		"a new pod is let in": {
			observed: Observe(Manager(1, graceful), Pod(0, NotReady, func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1.InPlaceReady}}
			})),
			want: "Open 0",
		},
		"a pod without the gate cannot be drained, and is changed in service": {
			observed: RollingOut(Next(2, graceful, one), Pod(0), Pod(1)),
			want:     "Update 1",
		},
		"also if nothing else is allowed": {
			observed: RollingOut(Next(2, InPlace(v1.InPlaceOnly, 30), one), Pod(0, Open), Pod(1)),
			want:     "Update 1",
		},
		"somebody else's gate is none of our business": {
			observed: Observe(Manager(1), Pod(0, NotReady, func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
			})),
		},
		"a raised partition changes pods back": {
			observed: RollingOut(Next(2, possible, one, Partition("100%")), Pod(0), Pod(1, V2)),
			want:     "Update 1",
		},
		"so does a rollback, though the pods fail": {
			observed: RollingOut(Next(2, only, one, rollback, FailedNow), Pod(0), Pod(1, V2, Crashing)),
			want:     "Update 1",
		},
		"a pod too many is not changed to what it is": {
			observed: Observe(Manager(1, possible, Limits("1", "0")), Pod(0), Pod(1), Pod(2, V2)),
			want:     "-2, -1",
		},
		"scaling down deletes": {
			observed: RollingOut(Next(1, only, one, rollback, FailedNow), Pod(0), Pod(1)),
			want:     "-1",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Make(test.observed)
			if got := MovesOf(plan); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			if Until(plan.Again) != test.again {
				t.Errorf("again %v, want %v", plan.Again, test.again)
			}
		})
	}
}

func TestIsChanging(t *testing.T) {
	behind := func(p *corev1.Pod) { p.Generation, p.Status.ObservedGeneration = 2, 1 }
	level := func(p *corev1.Pod) { p.Generation, p.Status.ObservedGeneration = 2, 2 }
	changed := InPlaceTo("v2", 3, time.Minute)
	deferred := Resizing(corev1.PodResizePending, corev1.PodReasonDeferred)
	tests := map[string]struct {
		pod  *corev1.Pod
		want bool
		// serves tells that the pod is available all the same.
		serves bool
	}{
		"made as it is":                    {pod: Pod(0, behind), serves: true},
		"nothing has happened yet":         {pod: Pod(0, changed, Runs("nginx", "id-before", 3)), want: true},
		"no word of the container":         {pod: Pod(0, changed), want: true},
		"its name says nothing":            {pod: Pod(0, changed, Runs("v2", "id-before", 3)), want: true},
		"the same image, restarted":        {pod: Pod(0, changed, Runs("docker.io/v2", "id-before", 4)), serves: true},
		"another image, not restarted":     {pod: Pod(0, changed, Runs("docker.io/v2", "id-after", 3)), serves: true},
		"no ID says nothing":               {pod: Pod(0, changed, Runs("docker.io/v2", "", 3)), want: true},
		"the node has not seen it":         {pod: Pod(0, changed, Runs("v2", "id-after", 4), behind), want: true},
		"the node has":                     {pod: Pod(0, changed, Runs("v2", "id-after", 4), level), serves: true},
		"CPU is still to come":             {pod: Pod(0, changed, Runs("v2", "id-after", 4), Resizing(corev1.PodResizeInProgress, "")), want: true},
		"CPU has to wait":                  {pod: Pod(0, changed, Runs("v2", "id-after", 4), deferred), want: true, serves: true},
		"CPU cannot be had":                {pod: Pod(0, changed, Runs("v2", "id-after", 4), Resizing(corev1.PodResizePending, corev1.PodReasonInfeasible)), want: true, serves: true},
		"CPU did not work out":             {pod: Pod(0, changed, Runs("v2", "id-after", 4), Resizing(corev1.PodResizeInProgress, corev1.PodReasonError)), want: true, serves: true},
		"CPU has to wait, the image not":   {pod: Pod(0, changed, Runs("nginx", "id-before", 3), deferred), want: true},
		"CPU had to wait, says an old one": {pod: Pod(0, changed, Runs("v2", "id-after", 4), deferred, behind), want: true},
		"CPU has to wait, out of service":  {pod: Pod(0, closed, changed, Runs("v2", "id-after", 4), deferred), want: true},
		"the record is of another change":  {pod: Pod(0, changed, Runs("nginx", "id-before", 3), OfImage("v3")), serves: true},
		"a refused change is none":         {pod: Pod(0, V2, refusedChange, behind), serves: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := inplace.IsUpdating(test.pod); got != test.want {
				t.Errorf("changing: %v", got)
			}
			if got := health.IsAvailable(test.pod, 0, Now); got != test.serves {
				t.Errorf("available: %v", got)
			}
		})
	}
}

// What a pod says of itself is about its old containers until it is changed: minReadySeconds counts from then on.
func TestAvailableAfterAChange(t *testing.T) {
	for ago, want := range map[time.Duration]bool{59 * time.Second: false, time.Minute: true} {
		p := Pod(0, ReadyFor(time.Hour), InPlaceTo("v2", 0, ago), Runs("v2", "id-after", 1))
		if got := health.IsAvailable(p, time.Minute, Now); got != want {
			t.Errorf("%v after the change available: %v", ago, got)
		}
	}
}

// A change that was refused after a resize does not make the pod one that was never changed.
func TestAvailableAfterARefusal(t *testing.T) {
	for ago, want := range map[time.Duration]bool{59 * time.Second: false, time.Minute: true} {
		p := Pod(0, ReadyFor(time.Hour), InPlaceTo("v2", 0, ago), Runs("v2", "id-after", 1))
		step := inplace.Update{Pod: p, Step: inplace.StepUpdate, From: RevisionWith("", TemplateWith()), To: RevisionWith("other", TemplateWith())}
		patch, err := step.RefusalPatch("no", true)
		if err != nil {
			t.Fatal(err)
		}
		ApplyPatch(p, patch)
		if got := health.IsAvailable(p, time.Minute, Now); got != want {
			t.Errorf("%v after the change available: %v; %s", ago, got, p.Annotations[v1.AnnotationInPlace])
		}
	}
}
