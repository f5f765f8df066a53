package inplace_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/health"
	. "github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// between returns a step for pod web-3 from revision "one" to revision "two", with these templates.
func between(step Step, from, to *corev1.PodTemplateSpec, change ...func(*corev1.Pod)) Update {
	fromTemplate := func(p *corev1.Pod) { p.Spec.Containers = from.DeepCopy().Spec.Containers }
	return Update{
		Pod: Pod(3, append([]func(*corev1.Pod){fromTemplate}, change...)...), Step: step,
		From: RevisionWith("one", from),
		To:   RevisionWith("two", to),
	}
}

func checkPatch(t *testing.T, got []byte, err error, want string) {
	t.Helper()
	if err != nil || string(got) != want {
		t.Errorf("error %v\ngot  %s\nwant %s", err, got, want)
	}
}

func TestPatch(t *testing.T) {
	relabelled := func(t *corev1.PodTemplateSpec) {
		t.Labels = map[string]string{"app": "shop", "size": "big"}
		t.Annotations = map[string]string{"note": "y"}
	}
	newImage := func(name string) func(*corev1.PodTemplateSpec) {
		return App(func(c *corev1.Container) { c.Image = name })
	}
	tests := map[string]struct {
		step Update
		want string
		// begin and resize are the patches before the final one.
		begin, resize string
	}{
		"an image": {
			step: between(StepUpdate, TemplateWith(), TemplateWith(newImage("app:2")), Runs("app:1", "id-1", 4)),
			want: `{"metadata":{"annotations":{"apps.mycompany.com/in-place-update":` +
				`"{\"revision\":\"two\",\"at\":\"2026-01-02T03:04:05Z\",\"containers\":{\"app\":{\"imageID\":\"id-1\",\"restarts\":4,\"from\":\"app:1\"}}}"},` +
				`"labels":{"apps.mycompany.com/revision":"two"},"uid":"uid-web-3"},` +
				`"spec":{"containers":[{"image":"app:2","name":"app"}]}}`,
		},
		"a pod without container statuses": {
			step: between(StepUpdate, TemplateWith(), TemplateWith(newImage("app:2"))),
			want: `{"metadata":{"annotations":{"apps.mycompany.com/in-place-update":` +
				`"{\"revision\":\"two\",\"at\":\"2026-01-02T03:04:05Z\",\"containers\":{\"app\":{\"from\":\"app:1\"}}}"},` +
				`"labels":{"apps.mycompany.com/revision":"two"},"uid":"uid-web-3"},` +
				`"spec":{"containers":[{"image":"app:2","name":"app"}]}}`,
		},
		"labels and annotations are added and removed; ours stay": {
			step: between(StepUpdate, TemplateWith(), TemplateWith(relabelled)),
			want: `{"metadata":{"annotations":{"apps.mycompany.com/in-place-update":"{\"revision\":\"two\",\"at\":\"2026-01-02T03:04:05Z\"}","note":"y"},` +
				`"labels":{"app":"shop","apps.mycompany.com/revision":"two","size":"big","tier":null},"uid":"uid-web-3"}}`,
		},
		"without an app label in the template, the app label is the PodManager's name": {
			step: between(StepUpdate, TemplateWith(relabelled), TemplateWith()),
			want: `{"metadata":{"annotations":{"apps.mycompany.com/in-place-update":"{\"revision\":\"two\",\"at\":\"2026-01-02T03:04:05Z\"}","note":"x"},` +
				`"labels":{"app":"web","apps.mycompany.com/revision":"two","size":null,"tier":"front"},"uid":"uid-web-3"}}`,
		},
		"CPU is changed by the resize patch": {
			step: between(StepUpdate, TemplateWith(), TemplateWith(Needs(Amounts("cpu", "2", "")))),
			want: `{"metadata":{"annotations":{"apps.mycompany.com/in-place-update":"{\"revision\":\"two\",\"at\":\"2026-01-02T03:04:05Z\",\"resized\":true}"},` +
				`"labels":{"apps.mycompany.com/revision":"two"},"uid":"uid-web-3"}}`,
			begin:  `{"metadata":{"annotations":{"apps.mycompany.com/in-place-update":"{\"revision\":\"two\",\"at\":\"2026-01-02T03:04:05Z\",\"begun\":true}"},"uid":"uid-web-3"}}`,
			resize: `{"metadata":{"uid":"uid-web-3"},"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"2"}}}]}}`,
		},
		"earlier restarts are recorded, for each container": {
			step: between(StepUpdate, TemplateWith(), TemplateWith(relabelled), func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", RestartCount: 3}, {Name: "side"}}
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 1}}
			}),
			want: `{"metadata":{"annotations":{"apps.mycompany.com/in-place-update":"{\"revision\":\"two\",\"at\":\"2026-01-02T03:04:05Z\",\"others\":{\"app\":{\"restarts\":3},\"init\":{\"restarts\":1}}}","note":"y"},` +
				`"labels":{"app":"shop","apps.mycompany.com/revision":"two","size":"big","tier":null},"uid":"uid-web-3"}}`,
		},
		"a limit is the request by default": {
			step: between(StepUpdate, TemplateWith(Needs(Amounts("cpu", "", "1"))), TemplateWith(Needs(Amounts("cpu", "", "2")))),
			want: `{"metadata":{"annotations":{"apps.mycompany.com/in-place-update":"{\"revision\":\"two\",\"at\":\"2026-01-02T03:04:05Z\",\"resized\":true}"},` +
				`"labels":{"apps.mycompany.com/revision":"two"},"uid":"uid-web-3"}}`,
			begin:  `{"metadata":{"annotations":{"apps.mycompany.com/in-place-update":"{\"revision\":\"two\",\"at\":\"2026-01-02T03:04:05Z\",\"begun\":true}"},"uid":"uid-web-3"}}`,
			resize: `{"metadata":{"uid":"uid-web-3"},"spec":{"containers":[{"name":"app","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"2"}}}]}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			patch, err := test.step.Patch(Manager(3), Now.Add(300*time.Millisecond))
			checkPatch(t, patch, err, test.want)
			patch, err = test.step.ResizePatch()
			checkPatch(t, patch, err, test.resize)
			patch, err = test.step.BeginPatch(Now)
			checkPatch(t, patch, err, test.begin)
		})
	}
}

// The next sync assesses the pod by the Record that the patch writes.
func TestPatchWritesARecord(t *testing.T) {
	from, to := RevisionFor(Manager(0)), RevisionFor(Next(0))
	p := Pod(0, Runs("docker.io/nginx", "id-1", 2))
	patch, err := Update{Pod: p, Step: StepUpdate, From: from, To: to}.Patch(Manager(3), Now)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, patch)
	if !IsUpdating(p) || health.IsAvailable(p, 0, Now) || p.Spec.Containers[0].Image != "v2" {
		t.Errorf("updating %v, available %v, image %s", IsUpdating(p), health.IsAvailable(p, 0, Now), p.Spec.Containers[0].Image)
	}
	Runs("docker.io/v2", "id-2", 3)(p)
	if IsUpdating(p) || !health.IsAvailable(p, 0, Now) || HasFailed(p) {
		t.Errorf("once the kubelet has carried out the update: updating %v, available %v, failed %v", IsUpdating(p), health.IsAvailable(p, 0, Now), HasFailed(p))
	}
}

// If an update is reverted before the kubelet carries it out, the kubelet may never restart the container.
func TestPatchReverted(t *testing.T) {
	from, to := RevisionFor(Manager(0)), RevisionFor(Next(0))
	p := Pod(0, Runs("docker.io/nginx", "id-1", 2))
	for _, step := range []Update{{Pod: p, Step: StepUpdate, From: from, To: to}, {Pod: p, Step: StepUpdate, From: to, To: from}} {
		patch, err := step.Patch(Manager(3), Now)
		if err != nil {
			t.Fatal(err)
		}
		ApplyPatch(p, patch)
	}
	if IsUpdating(p) || p.Spec.Containers[0].Image != "nginx" || p.Labels[v1.LabelRevision] != from.Hash {
		t.Errorf("still updating after the revert; image %s", p.Spec.Containers[0].Image)
	}
}

func TestRefusalPatch(t *testing.T) {
	step := between(StepUpdate, TemplateWith(), TemplateWith())
	patch, err := step.RefusalPatch(requeue.Failure{Reason: v1.ReasonInvalidPod, Message: "no such\nthing"}, false, Now)
	checkPatch(t, patch, err,
		`{"metadata":{"annotations":{"apps.mycompany.com/in-place-update":"{\"revision\":\"two\",\"refused\":\"no such thing\"}"},"uid":"uid-web-3"}}`)
	p := Pod(0, Labelled(v1.LabelRevision, "one"))
	ApplyPatch(p, patch)
	if RefusalOf(p, "two") != "no such thing" || RefusalOf(p, "three") != "" || IsUpdating(p) {
		t.Errorf("the record %s is not understood", p.Annotations[v1.AnnotationInPlace])
	}
}

// A forbidden update may be retried later. The pod still has the record of the refusal after its CPU and memory are restored.
func TestRetryOfForbidden(t *testing.T) {
	from, to := RevisionFor(sizedManager("1", "1Gi")), RevisionFor(sizedManager("2", "1Gi"))
	p := interrupted(sizedManager("1", "1Gi"), sizedManager("2", "1Gi"), 2, false)
	patch, err := Update{Pod: p, Step: StepUpdate, From: from, To: to}.RefusalPatch(requeue.Failure{Reason: v1.ReasonForbidden, Message: "quota"}, true, Now)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, patch)
	if patch, err = (Update{Pod: p, Step: StepRestore, From: from, To: from}).Patch(Manager(3), Now); err != nil {
		t.Fatal(err)
	}
	ApplyPatch(p, patch)
	if wait, known := UntilRetry(p, Now.Add(4*time.Minute)); !known || wait != time.Minute {
		t.Errorf("retried in %v, known %v", wait, known)
	}
	if wait, known := UntilRetry(p, Now.Add(6*time.Minute)); !known || wait != 0 {
		t.Errorf("later retried in %v, known %v", wait, known)
	}
	refused := Pod(0)
	patch, err = Update{Pod: refused, Step: StepUpdate, From: from, To: to}.RefusalPatch(requeue.Failure{Reason: v1.ReasonInvalidPod, Message: "no"}, false, Now)
	if err != nil {
		t.Fatal(err)
	}
	ApplyPatch(refused, patch)
	if wait, known := UntilRetry(refused, Now); known {
		t.Errorf("an invalid update is to be retried in %v", wait)
	}
}

// After a refused update, the record of the previous update still counts: the kubelet may not have carried it out yet.
func TestRefusalKeepsTheRecord(t *testing.T) {
	p := Pod(0, InPlaceTo("v2", 0, time.Second), Runs("nginx", "id-before", 0))
	refuse(t, Update{Pod: p, Step: StepUpdate, To: RevisionFor(Manager(0, Image("v3")))})
	if !IsUpdating(p) || health.IsAvailable(p, 0, Now) {
		t.Error("the update before the refused one counts as carried out")
	}
	Runs("v2", "id-after", 1)(p)
	if IsUpdating(p) || HasFailed(p) {
		t.Errorf("once the kubelet has carried out the update: updating %v, failed %v", IsUpdating(p), HasFailed(p))
	}
}

func TestGatePatch(t *testing.T) {
	for step, want := range map[Step]string{
		StepDrain: `{"metadata":{"uid":"uid-web-3"},"status":{"conditions":[{"lastTransitionTime":"2026-01-02T03:04:05Z",` +
			`"message":"","reason":"InPlaceUpdate","status":"False","type":"apps.mycompany.com/in-place-ready"}]}}`,
		StepOpen: `{"metadata":{"uid":"uid-web-3"},"status":{"conditions":[{"lastTransitionTime":"2026-01-02T03:04:05Z",` +
			`"message":"","reason":"InService","status":"True","type":"apps.mycompany.com/in-place-ready"}]}}`,
	} {
		patch, err := Update{Pod: Pod(3), Step: step}.GatePatch(Now.In(time.FixedZone("", 3600)))
		checkPatch(t, patch, err, want)
	}
}

// Readiness gates cannot be added to a pod later. So while a grace period is set, all pods are created with ours.
func TestNewPodHasAGate(t *testing.T) {
	own := func(m *v1.PodManager) {
		m.Spec.Template = TemplateWith(func(t *corev1.PodTemplateSpec) {
			t.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1.InPlaceReady}}
		})
	}
	tests := map[string]struct {
		manager *v1.PodManager
		want    int
	}{
		"with a grace period":       {manager: Manager(1, InPlace(v1.InPlaceIfPossible, 5)), want: 1},
		"without a grace period":    {manager: Manager(1, InPlace(v1.InPlaceIfPossible, 0))},
		"pods are replaced":         {manager: Manager(1, InPlace(v1.RecreatePods, 5))},
		"the template has the gate": {manager: Manager(1, InPlace(v1.InPlaceOnly, 5), own), want: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			made := plan.NewPod(test.manager, plan.Creation{Revision: RevisionFor(test.manager)})
			if got := len(made.Spec.ReadinessGates); got != test.want {
				t.Errorf("%d gates, want %d", got, test.want)
			}
			if !metav1.IsControlledBy(made, test.manager) {
				t.Error("the gate is not ours")
			}
		})
	}
}
