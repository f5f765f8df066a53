package rollout_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// forbiddenChange returns a change that records an update that the API server has forbidden. The update may be retried after retryIn.
func forbiddenChange(retryIn time.Duration) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		step := inplace.Update{Pod: p, Step: inplace.StepUpdate, From: RevisionFor(Manager(0)), To: RevisionFor(Next(0))}
		patch, err := step.RefusalPatch(requeue.Failure{Reason: v1.ReasonForbidden, Message: "quota"}, false, Now.Add(retryIn-5*time.Minute))
		if err != nil {
			panic(err)
		}
		ApplyPatch(p, patch)
	}
}

// mayBeRestarted gives a pod a deferred resize: the kubelet restarts its container once the node has enough memory.
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
		observed plan.Observed
		want     string
		again    time.Duration
	}{
		"a pod that the partition keeps is not updated because it is one too many": {
			observed: RollingOut(Next(1, possible, Limits("1", "0"), Partition("100%")), Pod(0), Pod(1)),
			want:     "-1",
		},
		"a pod that the partition keeps is not updated, with maxUnavailable": {
			observed: RollingOut(Next(1, possible, Limits("1", "1"), Partition("100%")), Pod(0), Pod(1)),
			want:     "-1",
		},
		"a pod that the rollback does not need is not moved back": {
			observed: RollingOut(Next(2, possible, one, rollback, FailedNow, MaxTerminating("1")), Pod(0), Pod(1), Pod(2, V2), Pod(3, Terminating)),
		},
		"infeasible in its old revision: the new one may request less": {
			observed: RollingOut(Next(1, only, one), Pod(0, infeasible)),
			want:     "Update 0",
		},
		"after the rollout, surge pods of updates in place rank like others": {
			observed: Observe(Next(2, possible), changed(0), changed(1), Pod(2, V2, CreatedAgo(10*time.Hour))),
			want:     "-1",
		},
		"as many surge pods as desired: the old pods are updated all the same": {
			observed: RollingOut(Next(1, possible, Limits("1", "0")), Pod(0), Pod(1, V2)),
			want:     "Update 0",
		},
		"pods are updated instead of replaced": {
			observed: RollingOut(Next(3, possible, Limits("0", "2")), Pods3()...),
			want:     "Update 2, Update 1",
		},
		"maxUnavailable 0: a surge pod is created first": {
			observed: RollingOut(Next(3, possible, Limits("1", "0")), Pods3()...),
			want:     "+3 new",
		},
		"maxUnavailable 0: an available surge pod lets one pod be updated": {
			observed: RollingOut(Next(3, possible, Limits("1", "0")), Pod(0), Pod(1), Pod(2), Pod(3, V2)),
			want:     "Update 2",
		},
		"maxUnavailable 0: the surge pod goes in the end": {
			observed: RollingOut(Next(2, possible, Limits("1", "0")), Pod(0, V2), Pod(1, V2), Pod(3, V2, CreatedAgo(time.Minute))),
			want:     "-3",
		},
		"an unavailable surge pod for a marked pod stays": {
			observed: RollingOut(Next(2, possible, Limits("1", "0")), changed(0), changed(1, Marked), Pod(3, V2, NotReady)),
		},
		"the marked pod goes when its surge pod is available": {
			observed: RollingOut(Next(2, possible, Limits("1", "0")), changed(0), changed(1, Marked), Pod(3, V2)),
			want:     "-1",
		},
		"a pod that the kubelet has not restarted is waited for": {
			observed: RollingOut(Next(3, possible, one), Pod(0), Pod(1), Pod(2, InPlaceTo("v2", 0, time.Second), Runs("nginx", "id-before", 0))),
		},
		"after a restarted pod the next one is updated": {
			observed: RollingOut(Next(3, possible, one), Pod(0), Pod(1), Pod(2, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1))),
			want:     "Update 1",
		},
		"InPlaceIfPossible: pods that cannot be updated are replaced": {
			observed: RollingOut(Next(3, env, possible, one), Pods3()...),
			want:     "+3 new, -2",
		},
		"InPlaceOnly: pods that cannot be updated stay": {
			observed: RollingOut(Next(3, env, only, one), Pods3()...),
		},
		"InPlaceOnly: missing pods are created": {
			observed: RollingOut(Next(3, only, one), Pod(0), Pod(1)),
			want:     "+2 new",
		},
		"InPlaceIfPossible: a pod that the PodManager did not create is replaced": {
			observed: RollingOut(Next(1, possible, Limits("0", "1")), Pod(0, Unlabelled)),
			want:     "+1 new, -0",
		},
		"InPlaceIfPossible: a pod whose update was refused is replaced": {
			observed: RollingOut(Next(1, possible, one), Pod(1, RefusedChange)),
			want:     "+0 new, -1",
		},
		"InPlaceOnly: a refused update stops the rollout": {
			observed: RollingOut(Next(2, only, one), Pod(0), Pod(1, RefusedChange)),
		},
		"InPlaceOnly: the surge pod does not replace a pod whose update was refused": {
			observed: RollingOut(Next(2, only, Limits("1", "0")), changed(0), Pod(1, RefusedChange), Pod(3, V2)),
			want:     "-3",
		},
		"InPlaceOnly: the surge pod does not replace the only pod": {
			observed: RollingOut(Next(1, only, Limits("1", "0")), Pod(1, RefusedChange), Pod(3, V2)),
			want:     "-3",
		},
		"InPlaceOnly: without updates to come there is no surge pod": {
			observed: RollingOut(Next(2, only, Limits("1", "0")), changed(0), Pod(1, RefusedChange)),
		},
		"InPlaceOnly: a surplus pod of an unknown revision goes before a surge pod": {
			observed: RollingOut(Next(2, only, Limits("1", "0")), Pod(0, V2), Pod(1, V2), Pod(2, Unlabelled)),
			want:     "-2",
		},
		"InPlaceOnly: the only pod is one too many": {
			observed: RollingOut(Next(0, only, Limits("1", "1")), Pod(1, RefusedChange)),
			want:     "-1",
		},
		"InPlaceOnly: a surplus pod goes that cannot be updated": {
			observed: RollingOut(Next(2, only, Limits("1", "1")), changed(0), Pod(1, RefusedChange), Pod(3, V2)),
			want:     "-1",
		},
		"InPlaceOnly: a forbidden update waits": {
			observed: RollingOut(Next(2, only, one), Pod(0), Pod(1, forbiddenChange(time.Minute))),
			again:    time.Minute,
		},
		"InPlaceOnly: a forbidden update is tried again": {
			observed: RollingOut(Next(2, only, one), Pod(0), Pod(1, forbiddenChange(0))),
			want:     "Update 1",
		},
		"InPlaceIfPossible: a pod whose update was forbidden is replaced at any time": {
			observed: RollingOut(Next(1, possible, one), Pod(1, forbiddenChange(0))),
			want:     "+0 new, -1",
		},
		"InPlaceIfPossible: a pod whose resize is infeasible is replaced": {
			observed: RollingOut(Next(2, possible, one), Pod(0), Pod(1, InPlaceTo("v2", 0, time.Second), infeasible)),
			want:     "+2 new, -1",
		},
		"InPlaceOnly: an infeasible resize stops the rollout": {
			observed: RollingOut(Next(2, only, one), Pod(0), Pod(1, InPlaceTo("v2", 0, time.Second), infeasible)),
		},
		"a deferred resize is waited for": {
			observed: RollingOut(Next(2, possible, one), Pod(0), Pod(1, InPlaceTo("v2", 0, time.Second), Resizing(corev1.PodResizePending, corev1.PodReasonDeferred))),
		},
		"a deferred resize is waited for although the pod is available": {
			observed: RollingOut(Next(3, possible, Limits("0", "1")), Pod(0), Pod(1), Pod(2, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1),
				Resizing(corev1.PodResizePending, corev1.PodReasonDeferred))),
		},
		"a pod that the kubelet may restart at any time does not count as available": {
			observed: RollingOut(Next(3, possible, Limits("2", "1")), Pod(0), Pod(1), Pod(2, mayBeRestarted)),
		},
		"a pod that the kubelet may restart at any time may itself be updated": {
			observed: RollingOut(Next(3, possible, Limits("2", "1"), Partition("100%")), Pod(0), Pod(1), Pod(2, mayBeRestarted)),
			want:     "Update 2",
		},
		"with a grace period the pod is drained first": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, Open)),
			want:     "Drain 1",
		},
		"a drained pod waits for the end of its grace period": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, NotReady, Gated(corev1.ConditionFalse, 10*time.Second))),
			again:    20 * time.Second,
		},
		"after its grace period a drained pod is updated": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, NotReady, Gated(corev1.ConditionFalse, 30*time.Second))),
			want:     "Update 1",
		},
		"a drained pod is updated before others": {
			observed: RollingOut(Next(3, graceful, one), Pod(0, NotReady, Gated(corev1.ConditionFalse, 30*time.Second)),
				Pod(1, Phase(corev1.PodPending), OnNode(""), Gated(corev1.ConditionTrue, time.Hour)), Pod(2, Open)),
			want: "Update 0",
		},
		"a deferred resize does not keep the gate closed": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, Closed, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1),
				Resizing(corev1.PodResizePending, corev1.PodReasonDeferred))),
			want: "Open 1",
		},
		"the gate stays closed while the kubelet has yet to restart the pod": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, Closed, InPlaceTo("v2", 0, time.Second), Runs("nginx", "id-before", 0))),
		},
		"the gate is opened after the restart": {
			observed: RollingOut(Next(2, graceful, one), Pod(0, Open), Pod(1, Closed, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1))),
			want:     "Open 1",
		},
		"the gate of a new pod is opened": {
			observed: Observe(Manager(1, graceful), Pod(0, NotReady, func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1.InPlaceReady}}
			})),
			want: "Open 0",
		},
		"a pod without the gate is updated without being drained": {
			observed: RollingOut(Next(2, graceful, one), Pod(0), Pod(1)),
			want:     "Update 1",
		},
		"InPlaceOnly: a pod without the gate is updated without being drained": {
			observed: RollingOut(Next(2, InPlace(v1.InPlaceOnly, 30), one), Pod(0, Open), Pod(1)),
			want:     "Update 1",
		},
		"the gate of another controller is left alone": {
			observed: Observe(Manager(1), Pod(0, NotReady, func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
			})),
		},
		"a higher partition updates pods back in place": {
			observed: RollingOut(Next(2, possible, one, Partition("100%")), Pod(0), Pod(1, V2)),
			want:     "Update 1",
		},
		"a rollback updates failing pods back in place": {
			observed: RollingOut(Next(2, only, one, rollback, FailedNow), Pod(0), Pod(1, V2, Crashing)),
			want:     "Update 1",
		},
		"surplus pods of both revisions are deleted, not updated": {
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
			decided := plan.Make(test.observed)
			if got := ActionsOf(decided); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			if Until(decided.Again) != test.again {
				t.Errorf("again %v, want %v", decided.Again, test.again)
			}
		})
	}
}

// A restart is a rollout. An update in place cannot restart pods.
func TestRestartMoves(t *testing.T) {
	restart := RestartAt("2026-11-15T12:00:00Z")
	for name, change := range map[string]func(*v1.PodManager){
		"the short form": func(*v1.PodManager) {}, "in full": Whole, "in place": InPlace(v1.InPlaceIfPossible, 0),
	} {
		t.Run(name, func(t *testing.T) {
			if got := ActionsOf(plan.Make(RollingOut(Manager(3, Limits("0", "1"), change, restart), Pods3()...))); got != "+3 new, -2" {
				t.Errorf("got %q", got)
			}
		})
	}
	o := RollingOut(Manager(3, InPlace(v1.InPlaceOnly, 0), restart), Pods3()...)
	if status, _ := status.Compute(ReportOf(o)); ReasonIn(&status, v1.ConditionReady) != v1.ReasonNotInPlace || !strings.Contains(MessageIn(&status, v1.ConditionReady), "a restart was asked for") {
		t.Errorf("Ready: %s: %s", ReasonIn(&status, v1.ConditionReady), MessageIn(&status, v1.ConditionReady))
	}
}
