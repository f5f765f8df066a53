package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func open(p *corev1.Pod)   { gated(corev1.ConditionTrue, time.Hour)(p) }
func closed(p *corev1.Pod) { notReady(p); gated(corev1.ConditionFalse, time.Minute)(p) }

// resizing gives a pod a condition about its CPU and memory.
func resizing(kind corev1.PodConditionType, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: "too big",
		})
	}
}

// runs is what the node says of the container app.
func runs(image, id string, restarts int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", Image: image, ImageID: id, RestartCount: restarts}}
	}
}

func refusedChange(p *corev1.Pod) {
	note := `{"revision":"` + revisionFor(next(0)).Hash + `","refused":"no such thing"}`
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1.AnnotationInPlace, note)
}

// mayBeRestarted makes a pod one that is restarted once its node has the memory for it.
func mayBeRestarted(p *corev1.Pod) {
	of("v2")(p)
	runs("v2", "id", 0)(p)
	resizing(corev1.PodResizePending, corev1.PodReasonDeferred)(p)
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1.AnnotationInPlace,
		`{"revision":"`+p.Labels[v1.LabelRevision]+`","containers":{"app":{"imageID":"id","had":{"requests":{"memory":"1Gi"}}}}}`)
}

func TestInPlaceMoves(t *testing.T) {
	only, possible := inPlace(v1.InPlaceOnly, 0), inPlace(v1.InPlaceIfPossible, 0)
	graceful := inPlace(v1.InPlaceIfPossible, 30)
	env := func(m *v1.PodManager) {
		m.Spec.Template = Template(&m.Spec).DeepCopy()
		m.Spec.Image = ""
		m.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A"}}
	}
	one := limits("0", "1")
	rollback := onFailure(v1.RollbackOnFailure)
	changed := func(index int, change ...func(*corev1.Pod)) *corev1.Pod {
		return pod(index, append(change, inPlaceTo("v2", 0, time.Hour), runs("v2", "id-after", 1))...)
	}
	infeasible := resizing(corev1.PodResizePending, corev1.PodReasonInfeasible)
	tests := map[string]struct {
		observed Observed
		want     string
		again    time.Duration
	}{
		"pods are changed instead of replaced": {
			observed: rollingOut(next(3, possible, limits("0", "2")), pods3()...),
			want:     "Change 2, Change 1",
		},
		"one after the other, if none may be missing: with a pod beside them": {
			observed: rollingOut(next(3, possible, limits("1", "0")), pods3()...),
			want:     "+3 new",
		},
		"which makes room": {
			observed: rollingOut(next(3, possible, limits("1", "0")), pod(0), pod(1), pod(2), pod(3, v2)),
			want:     "Change 2",
		},
		"and goes in the end, not one that was changed": {
			observed: rollingOut(next(2, possible, limits("1", "0")), pod(0, v2), pod(1, v2), pod(3, v2, createdAgo(time.Minute))),
			want:     "-3",
		},
		"nor before one that is to go, for which it was made": {
			observed: rollingOut(next(2, possible, limits("1", "0")), changed(0), changed(1, marked), pod(3, v2, notReady)),
		},
		"that one goes when it is ready": {
			observed: rollingOut(next(2, possible, limits("1", "0")), changed(0), changed(1, marked), pod(3, v2)),
			want:     "-1",
		},
		"a pod that is being changed is waited for": {
			observed: rollingOut(next(3, possible, one), pod(0), pod(1), pod(2, inPlaceTo("v2", 0, time.Second), runs("nginx", "id-before", 0))),
		},
		"the next one": {
			observed: rollingOut(next(3, possible, one), pod(0), pod(1), pod(2, inPlaceTo("v2", 0, time.Second), runs("v2", "id-after", 1))),
			want:     "Change 1",
		},
		"what cannot be changed is replaced": {
			observed: rollingOut(next(3, env, possible, one), pods3()...),
			want:     "+3 new, -2",
		},
		"or not, if the user says so": {
			observed: rollingOut(next(3, env, only, one), pods3()...),
		},
		"pods that are missing are made all the same": {
			observed: rollingOut(next(3, only, one), pod(0), pod(1)),
			want:     "+2 new",
		},
		"a refused change is not tried again": {
			observed: rollingOut(next(1, possible, one), pod(1, refusedChange)),
			want:     "+0 new, -1",
		},
		"nor, if nothing else is allowed, any other": {
			observed: rollingOut(next(2, only, one), pod(0), pod(1, refusedChange)),
		},
		"a node that cannot: the pod is replaced": {
			observed: rollingOut(next(2, possible, one), pod(0), pod(1, inPlaceTo("v2", 0, time.Second), infeasible)),
			want:     "+2 new, -1",
		},
		"a node that cannot: or the rollout is refused": {
			observed: rollingOut(next(2, only, one), pod(0), pod(1, inPlaceTo("v2", 0, time.Second), infeasible)),
		},
		"a node that cannot yet is waited for": {
			observed: rollingOut(next(2, possible, one), pod(0), pod(1, inPlaceTo("v2", 0, time.Second), resizing(corev1.PodResizePending, corev1.PodReasonDeferred))),
		},
		"a pod that serves while it waits is a reason to wait, too": {
			observed: rollingOut(next(3, possible, limits("0", "1")), pod(0), pod(1), pod(2, inPlaceTo("v2", 0, time.Second), runs("v2", "id-after", 1),
				resizing(corev1.PodResizePending, corev1.PodReasonDeferred))),
		},
		"more so if it may be restarted at any time": {
			observed: rollingOut(next(3, possible, limits("2", "1")), pod(0), pod(1), pod(2, mayBeRestarted)),
		},
		"it is not spared for that": {
			observed: rollingOut(next(3, possible, limits("2", "1"), partition("100%")), pod(0), pod(1), pod(2, mayBeRestarted)),
			want:     "Change 2",
		},
		"first the pod leaves its Services": {
			observed: rollingOut(next(2, graceful, one), pod(0, open), pod(1, open)),
			want:     "Drain 1",
		},
		"then the grace period passes": {
			observed: rollingOut(next(2, graceful, one), pod(0, open), pod(1, notReady, gated(corev1.ConditionFalse, 10*time.Second))),
			again:    20 * time.Second,
		},
		"then it is changed": {
			observed: rollingOut(next(2, graceful, one), pod(0, open), pod(1, notReady, gated(corev1.ConditionFalse, 30*time.Second))),
			want:     "Change 1",
		},
		"a pod that has left its Services comes first": {
			observed: rollingOut(next(3, graceful, one), pod(0, notReady, gated(corev1.ConditionFalse, 30*time.Second)),
				pod(1, phase(corev1.PodPending), onNode(""), gated(corev1.ConditionTrue, time.Hour)), pod(2, open)),
			want: "Change 0",
		},
		"it need not wait out of service for CPU that its node does not have": {
			observed: rollingOut(next(2, graceful, one), pod(0, open), pod(1, closed, inPlaceTo("v2", 0, time.Second), runs("v2", "id-after", 1),
				resizing(corev1.PodResizePending, corev1.PodReasonDeferred))),
			want: "Open 1",
		},
		"while its node is at it, it stays out": {
			observed: rollingOut(next(2, graceful, one), pod(0, open), pod(1, closed, inPlaceTo("v2", 0, time.Second), runs("nginx", "id-before", 0))),
		},
		"then it is let back": {
			observed: rollingOut(next(2, graceful, one), pod(0, open), pod(1, closed, inPlaceTo("v2", 0, time.Second), runs("v2", "id-after", 1))),
			want:     "Open 1",
		},
		"a new pod is let in": {
			observed: observe(manager(1, graceful), pod(0, notReady, func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1.InPlaceReady}}
			})),
			want: "Open 0",
		},
		"a pod without the gate cannot be drained, and is changed in service": {
			observed: rollingOut(next(2, graceful, one), pod(0), pod(1)),
			want:     "Change 1",
		},
		"also if nothing else is allowed": {
			observed: rollingOut(next(2, inPlace(v1.InPlaceOnly, 30), one), pod(0, open), pod(1)),
			want:     "Change 1",
		},
		"somebody else's gate is none of our business": {
			observed: observe(manager(1), pod(0, notReady, func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
			})),
		},
		"a raised partition changes pods back": {
			observed: rollingOut(next(2, possible, one, partition("100%")), pod(0), pod(1, v2)),
			want:     "Change 1",
		},
		"so does a rollback, though the pods fail": {
			observed: rollingOut(next(2, only, one, rollback, failedNow), pod(0), pod(1, v2, crashing)),
			want:     "Change 1",
		},
		"a pod too many is not changed to what it is": {
			observed: observe(manager(1, possible, limits("1", "0")), pod(0), pod(1), pod(2, v2)),
			want:     "-2, -1",
		},
		"scaling down deletes": {
			observed: rollingOut(next(1, only, one, rollback, failedNow), pod(0), pod(1)),
			want:     "-1",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Make(test.observed)
			if got := movesOf(plan); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			if until(plan.Again) != test.again {
				t.Errorf("again %v, want %v", plan.Again, test.again)
			}
		})
	}
}

func TestIsChanging(t *testing.T) {
	behind := func(p *corev1.Pod) { p.Generation, p.Status.ObservedGeneration = 2, 1 }
	level := func(p *corev1.Pod) { p.Generation, p.Status.ObservedGeneration = 2, 2 }
	changed := inPlaceTo("v2", 3, time.Minute)
	deferred := resizing(corev1.PodResizePending, corev1.PodReasonDeferred)
	tests := map[string]struct {
		pod  *corev1.Pod
		want bool
		// serves tells that the pod is available all the same.
		serves bool
	}{
		"made as it is":                    {pod: pod(0, behind), serves: true},
		"nothing has happened yet":         {pod: pod(0, changed, runs("nginx", "id-before", 3)), want: true},
		"no word of the container":         {pod: pod(0, changed), want: true},
		"its name says nothing":            {pod: pod(0, changed, runs("v2", "id-before", 3)), want: true},
		"the same image, restarted":        {pod: pod(0, changed, runs("docker.io/v2", "id-before", 4)), serves: true},
		"another image, not restarted":     {pod: pod(0, changed, runs("docker.io/v2", "id-after", 3)), serves: true},
		"no ID says nothing":               {pod: pod(0, changed, runs("docker.io/v2", "", 3)), want: true},
		"the node has not seen it":         {pod: pod(0, changed, runs("v2", "id-after", 4), behind), want: true},
		"the node has":                     {pod: pod(0, changed, runs("v2", "id-after", 4), level), serves: true},
		"CPU is still to come":             {pod: pod(0, changed, runs("v2", "id-after", 4), resizing(corev1.PodResizeInProgress, "")), want: true},
		"CPU has to wait":                  {pod: pod(0, changed, runs("v2", "id-after", 4), deferred), want: true, serves: true},
		"CPU cannot be had":                {pod: pod(0, changed, runs("v2", "id-after", 4), resizing(corev1.PodResizePending, corev1.PodReasonInfeasible)), want: true, serves: true},
		"CPU did not work out":             {pod: pod(0, changed, runs("v2", "id-after", 4), resizing(corev1.PodResizeInProgress, corev1.PodReasonError)), want: true, serves: true},
		"CPU has to wait, the image not":   {pod: pod(0, changed, runs("nginx", "id-before", 3), deferred), want: true},
		"CPU had to wait, says an old one": {pod: pod(0, changed, runs("v2", "id-after", 4), deferred, behind), want: true},
		"CPU has to wait, out of service":  {pod: pod(0, closed, changed, runs("v2", "id-after", 4), deferred), want: true},
		"the record is of another change":  {pod: pod(0, changed, runs("nginx", "id-before", 3), of("v3")), serves: true},
		"a refused change is none":         {pod: pod(0, v2, refusedChange, behind), serves: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := isChanging(test.pod); got != test.want {
				t.Errorf("changing: %v", got)
			}
			if got := isAvailable(test.pod, 0, now); got != test.serves {
				t.Errorf("available: %v", got)
			}
		})
	}
}

// What a pod says of itself is about its old containers until it is changed: minReadySeconds counts from then on.
func TestAvailableAfterAChange(t *testing.T) {
	for ago, want := range map[time.Duration]bool{59 * time.Second: false, time.Minute: true} {
		p := pod(0, readyFor(time.Hour), inPlaceTo("v2", 0, ago), runs("v2", "id-after", 1))
		if got := isAvailable(p, time.Minute, now); got != want {
			t.Errorf("%v after the change available: %v", ago, got)
		}
	}
}

// A change that was refused after a resize does not make the pod one that was never changed.
func TestAvailableAfterARefusal(t *testing.T) {
	for ago, want := range map[time.Duration]bool{59 * time.Second: false, time.Minute: true} {
		p := pod(0, readyFor(time.Hour), inPlaceTo("v2", 0, ago), runs("v2", "id-after", 1))
		step := InPlace{Pod: p, Step: StepChange, From: &Revision{template: templateWith()}, To: &Revision{Hash: "other", template: templateWith()}}
		patch, err := step.RefusalPatch("no", true)
		if err != nil {
			t.Fatal(err)
		}
		applyPatch(p, patch)
		if got := isAvailable(p, time.Minute, now); got != want {
			t.Errorf("%v after the change available: %v; %s", ago, got, p.Annotations[v1.AnnotationInPlace])
		}
	}
}
