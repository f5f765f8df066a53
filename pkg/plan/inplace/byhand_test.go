package inplace_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
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
	restore(t, p, before)
	if !IsUpdating(p) || health.IsAvailable(p, 0, Now) {
		t.Errorf("updating: %v, available: %v, although the kubelet has yet to restart the container: %s",
			IsUpdating(p), health.IsAvailable(p, 0, Now), p.Annotations[v1.AnnotationInPlace])
	}
	if UpdatedAt(p) != Now {
		t.Errorf("updated at %v, so that minReadySeconds do not begin anew", UpdatedAt(p))
	}
}

// Nobody can tell what a pod that was made by hand had before an update that was interrupted: the kubelet may have to restart its containers to
// restore it. So an available one is restored only within maxUnavailable; a pod of a revision without a restart is restored at any time.
func TestRestoreOfPodMadeByHandIsLimited(t *testing.T) {
	before, after := sizedManager("1", "1Gi"), sizedManager("2", "1Gi", func(m *v1.PodManager) { m.Spec.Replicas = new(int32(2)) })
	for name, test := range map[string]struct {
		pod, other func(*corev1.Pod)
		want       string
	}{
		"of a revision":                 {pod: func(*corev1.Pod) {}, other: NotReady, want: "Restore 0"},
		"by hand":                       {pod: Unlabelled, other: NotReady, want: ""},
		"by hand, and unavailable":      {pod: func(p *corev1.Pod) { Unlabelled(p); NotReady(p) }, other: NotReady, want: "Restore 0"},
		"by hand, the other is serving": {pod: Unlabelled, other: func(*corev1.Pod) {}, want: "Update 0"},
	} {
		t.Run(name, func(t *testing.T) {
			p := interrupted(before, after, 1, false)
			test.pod(p)
			other := Pod(1, Runs("app:1", "id-1", 0), Labelled(v1.LabelRevision, RevisionFor(after).Hash), test.other)
			other.Spec.Containers = after.Spec.Template.DeepCopy().Spec.Containers
			o := Observe(after, p, other)
			o.Revisions = append(o.Revisions, Stored(before, 1))
			o.Manager.Status.CurrentRevision = o.Revisions[1].Name
			o.Now = Now.Add(time.Minute)
			if got := MovesOf(plan.Make(o)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
