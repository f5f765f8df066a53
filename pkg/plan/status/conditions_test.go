package status_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plan/status"
)

// The test checks the conditions in each state of a rollout. NEW and OLD stand for the names of the revisions.
func TestRolloutConditions(t *testing.T) {
	one, rollback, onDelete := Limits("0", "1"), OnFailure(v1.RollbackOnFailure), Strategy(v1.OnDeleteStrategy)
	bad := []*corev1.Pod{Pod(0), Pod(1), Pod(2, V2, Crashing)}
	env := func(m *v1.PodManager) {
		m.Spec.Template = history.Template(&m.Spec).DeepCopy()
		m.Spec.Image = ""
		m.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A"}}
	}
	possible := InPlace(v1.InPlaceIfPossible, 0)
	deferred := Resizing(corev1.PodResizePending, corev1.PodReasonDeferred)
	infeasible := Resizing(corev1.PodResizePending, corev1.PodReasonInfeasible)
	minReady := func(m *v1.PodManager) { m.Spec.MinReadySeconds = 60 }
	relabelled := func(p *corev1.Pod) {
		Annotated(v1.AnnotationInPlace, fmt.Sprintf(`{"revision":%q}`, p.Labels[v1.LabelRevision]))(p)
	}
	fresh := func(o *plan.Observed) { o.Manager.Status = v1.PodManagerStatus{} }
	tests := map[string]struct {
		observed plan.Observed
		ready    string
		message  string
		// available, progressing and stalled are the status and reason of the other conditions, or "-" for a condition that must not exist.
		available, progressing, stalled string
	}{
		"rolling out": {
			observed: RollingOut(Next(3, one), Pod(0), Pod(1), Pod(2, V2)),
			ready:    "False/RollingOut", message: "1 of 3 pods updated, 3 available",
			available: "True/EnoughReplicas", progressing: "True/RollingOut", stalled: "-",
		},
		"rolling out, one is not ready": {
			observed: RollingOut(Next(3, one), Pod(0), Pod(1), Pod(2, V2, Phase(corev1.PodPending))),
			ready:    "False/RollingOut", message: "1 of 3 pods updated, 2 available; web-2: node node-2 has not accepted the pod; if that lasts, check that the node exists and is ready",
			available: "True/EnoughReplicas", progressing: "True/RollingOut", stalled: "-",
		},
		"rolling out, one was created a moment ago": {
			observed: RollingOut(Next(3, one), Pod(0), Pod(1), Pod(2, V2, Phase(corev1.PodPending), CreatedAgo(time.Second))),
			ready:    "False/RollingOut", message: "1 of 3 pods updated, 2 available; web-2: pending",
			available: "True/EnoughReplicas", progressing: "True/RollingOut", stalled: "-",
		},
		"rolling out, a ready pod waits for its kubelet": {
			observed: RollingOut(Next(3, possible, one), Pod(0), Pod(1), Pod(2, InPlaceTo("v2", 0, time.Second), Runs("nginx", "id-before", 0))),
			ready:    "False/RollingOut", message: "1 of 3 pods updated, 2 available; web-2: container app: the kubelet has not restarted it for the update yet",
			available: "True/EnoughReplicas", progressing: "True/RollingOut", stalled: "-",
		},
		"all updated, a ready pod waits for its kubelet": {
			observed: RollingOut(Next(2, possible, one), Pod(0, V2), Pod(1, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1), Resizing(corev1.PodResizeInProgress, ""))),
			ready:    "False/PodsNotReady", message: "1 of 2 pods ready; web-1: being resized",
			available: "True/EnoughReplicas", progressing: "True/WaitingForPods", stalled: "-",
		},
		"all updated, an available pod waits for its resize": {
			observed: RollingOut(Next(2, possible, one), Pod(0, V2), Pod(1, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1), deferred)),
			ready:    "False/RollingOut", message: "2 of 2 pods updated, 2 available; web-1: resize deferred: too big",
			available: "True/EnoughReplicas", progressing: "True/RollingOut", stalled: "-",
		},
		"an available pod waits for its resize beyond the deadline": {
			observed: RollingOut(Next(2, possible, one, Rolled(1, 11*time.Minute, 0)), Pod(0), Pod(1, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1), deferred)),
			ready:    "False/ProgressDeadlineExceeded", message: "1 of 2 pods updated, 2 available; no further pod of revision NEW has become available for 10m0s; web-1: resize deferred: too big",
			available: "True/EnoughReplicas", progressing: "False/ProgressDeadlineExceeded",
			stalled: "True/ProgressDeadlineExceeded: no further pod of revision NEW has become available for 10m0s; web-1: resize deferred: too big",
		},
		"pods without the readiness gate": {
			observed:  RollingOut(Next(3, InPlace(v1.InPlaceOnly, 30), one), Pod(0, Open), Pod(1), Pod(2, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1))),
			ready:     "False/RollingOut",
			message:   "1 of 3 pods updated, 3 available; web-1 and 1 more: updated without being taken out of service first: created before inPlaceGracePeriodSeconds was set",
			available: "True/EnoughReplicas", progressing: "True/RollingOut", stalled: "-",
		},
		"the update of a pod without the readiness gate changed only labels": {
			observed:  RollingOut(Next(2, InPlace(v1.InPlaceOnly, 30), one), Pod(0, Open), Pod(1, V2, relabelled)),
			ready:     "False/RollingOut",
			message:   "1 of 2 pods updated, 2 available",
			available: "True/EnoughReplicas", progressing: "True/RollingOut", stalled: "-",
		},
		"rolled out": {
			observed: RollingOut(Next(3, one, Baking(time.Hour)), Pod(0, V2), Pod(1, V2), Pod(2, V2)),
			ready:    "True/AllReplicasAvailable", message: "3 of 3 pods available",
			available: "True/EnoughReplicas", progressing: "False/Complete", stalled: "-",
		},
		"all updated, one not ready for long enough": {
			observed: RollingOut(Next(3, one, minReady), Pod(0, V2), Pod(1, V2), Pod(2, V2, ReadyFor(time.Second))),
			ready:    "False/WaitingForMinReadySeconds", message: "2 of 3 pods have been ready for 60 s",
			available: "True/EnoughReplicas", progressing: "True/WaitingForPods", stalled: "-",
		},
		"an old pod is left over": {
			observed: RollingOut(Next(3), Pod(0), Pod(1, V2), Pod(2, V2), Pod(3, V2)),
			ready:    "False/RollingOut", message: "3 of 3 pods updated, 4 available",
			available: "True/EnoughReplicas", progressing: "True/RollingOut", stalled: "-",
		},
		"the deadline has passed": {
			observed: RollingOut(Next(3, one, Rolled(0, 11*time.Minute, 0)), Pod(0), Pod(1), Pod(2, V2, Phase(corev1.PodPending))),
			ready:    "False/ProgressDeadlineExceeded", message: "1 of 3 pods updated, 2 available; no further pod of revision NEW has become available for 10m0s; web-2: node node-2 has not accepted the pod; if that lasts, check that the node exists and is ready",
			available: "True/EnoughReplicas", progressing: "False/ProgressDeadlineExceeded",
			stalled: "True/ProgressDeadlineExceeded: no further pod of revision NEW has become available for 10m0s; web-2: node node-2 has not accepted the pod; if that lasts, check that the node exists and is ready",
		},
		"the deadline has passed, and all pods are updated": {
			observed: RollingOut(Next(2, one, Rolled(1, 11*time.Minute, 0)), Pod(0, V2), Pod(1, V2, NotReady, Crashed(0, time.Minute))),
			ready:    "False/ProgressDeadlineExceeded", message: "2 of 2 pods updated, 1 available; no further pod of revision NEW has become available for 10m0s; web-1: container app: not ready",
			available: "True/EnoughReplicas", progressing: "False/ProgressDeadlineExceeded",
			stalled: "True/ProgressDeadlineExceeded: no further pod of revision NEW has become available for 10m0s; web-1: container app: not ready",
		},
		"the deadline has passed, and a pod is missing": {
			observed: RollingOut(Next(3, one, Rolled(1, 11*time.Minute, 0)), Pod(0, V2), Pod(1, V2, NotReady)),
			ready:    "False/TooFewReplicas", message: "2 of 3 pods exist; no further updated pod has become available for 10m0s",
			available: "False/NotEnoughReplicas", progressing: "False/ProgressDeadlineExceeded",
			stalled: "True/ProgressDeadlineExceeded: no further pod of revision NEW has become available for 10m0s; web-1: running",
		},
		"the partition is reached": {
			observed: RollingOut(Next(3, one, Partition("2")), Pod(0), Pod(1), Pod(2, V2)),
			ready:    "True/PartitionReached", message: "3 of 3 pods available; 1 updated, 2 not updated because of the partition",
			available: "True/EnoughReplicas", progressing: "False/Complete", stalled: "-",
		},
		"on the way to the partition": {
			observed: RollingOut(Next(3, one, Partition("1")), Pod(0), Pod(1), Pod(2, V2)),
			ready:    "False/RollingOut", message: "1 of 3 pods updated, 3 available",
			available: "True/EnoughReplicas", progressing: "True/RollingOut", stalled: "-",
		},
		"on the way back to the partition": {
			observed: RollingOut(Next(3, one, Partition("3")), Pod(0), Pod(1), Pod(2, V2)),
			ready:    "False/RollingOut", message: "1 of 3 pods updated, 3 available",
			available: "True/EnoughReplicas", progressing: "True/RollingOut", stalled: "-",
		},
		"paused with pods to update": {
			observed: RollingOut(Next(3, one, Paused), Pods3()...),
			ready:    "False/Paused", message: "paused, 0 of 3 pods updated",
			available: "True/EnoughReplicas", progressing: "False/Paused", stalled: "-",
		},
		"paused with no pods to update": {
			observed: Observe(Manager(3, Paused), Pods3()...),
			ready:    "True/AllReplicasAvailable", message: "3 of 3 pods available",
			available: "True/EnoughReplicas", progressing: "False/Complete", stalled: "-",
		},
		"paused, with some pods adopted": {
			observed: With(Observe(Manager(3, Paused), Pod(0, Unlabelled), Pod(1, Unlabelled)), fresh),
			ready:    "False/Paused", message: "paused with 2 of 3 pods adopted; set paused to false to create the others",
			available: "False/NotEnoughReplicas", progressing: "False/Paused", stalled: "-",
		},
		"paused, with all pods adopted": {
			observed: With(Observe(Manager(2, Paused), Pod(0, Unlabelled), Pod(1, Unlabelled)), fresh),
			ready:    "True/AllReplicasAvailable", message: "2 of 2 pods available",
			available: "True/EnoughReplicas", progressing: "False/Complete", stalled: "-",
		},
		"paused before the first pod": {
			observed: With(Observe(Manager(3, Paused)), fresh),
			ready:    "False/Paused", message: "paused before the first pod; set paused to false to begin",
			available: "False/NotEnoughReplicas", progressing: "False/Paused", stalled: "-",
		},
		"OnDelete, and old pods serve": {
			observed: RollingOut(Next(3, onDelete), Pod(0), Pod(1), Pod(2, V2)),
			ready:    "True/UpdateOnDelete", message: "3 of 3 pods available; 2 outdated; when one is deleted, its replacement has the new template",
			available: "True/EnoughReplicas", progressing: "False/Complete", stalled: "-",
		},
		"OnDelete, and old pods of more than one template": {
			observed: RollingOut(Next(2, onDelete), Pod(0), Pod(1, OfImage("v1.5"))),
			ready:    "True/UpdateOnDelete", message: "2 of 2 pods available; 2 outdated; when one is deleted, its replacement has the new template",
			available: "True/EnoughReplicas", progressing: "False/Complete", stalled: "-",
		},
		"OnDelete, and one was deleted": {
			observed: RollingOut(Next(3, onDelete), Pod(0), Pod(1), Pod(2, Terminating)),
			ready:    "False/TooFewReplicas", message: "2 of 3 pods exist",
			available: "False/NotEnoughReplicas", progressing: "True/Scaling", stalled: "-",
		},
		"OnDelete, and its replacement is not ready": {
			observed: RollingOut(Next(3, onDelete), Pod(0), Pod(1), Pod(2, V2, Crashing)),
			ready:    "False/PodsNotReady", message: "2 of 3 pods ready; web-2: container app: CrashLoopBackOff: Error, exit code 3",
			available: "False/NotEnoughReplicas", progressing: "True/WaitingForPods", stalled: "-",
		},
		"OnDelete, and an old pod is too many": {
			observed: RollingOut(Next(2, onDelete), Pods3()...),
			ready:    "False/TooManyReplicas", message: "3 pods exist, 2 wanted",
			available: "True/EnoughReplicas", progressing: "True/Scaling", stalled: "-",
		},
		"OnDelete, and all were deleted": {
			observed: RollingOut(Next(1, onDelete, Baking(time.Hour)), Pod(0, V2)),
			ready:    "True/AllReplicasAvailable", message: "1 of 1 pod available",
			available: "True/EnoughReplicas", progressing: "False/Complete", stalled: "-",
		},
		"OnDelete, paused": {
			observed: RollingOut(Next(3, onDelete, Paused), Pods3()...),
			ready:    "False/Paused", message: "paused, 0 of 3 pods updated",
			available: "True/EnoughReplicas", progressing: "False/Paused", stalled: "-",
		},
		"Recreate, between the old and the new pods": {
			observed: RollingOut(Next(3, Strategy(v1.RecreateStrategy)), Pod(0, Terminating)),
			ready:    "False/TooFewReplicas", message: "0 of 3 pods exist",
			available: "False/NotEnoughReplicas", progressing: "True/Scaling", stalled: "-",
		},
		"halted": {
			observed: RollingOut(Next(3, one), bad...),
			ready:    "False/RolloutHalted", message: "halted with 1 pod updated to NEW: web-2: container app: CrashLoopBackOff: Error, exit code 3",
			available: "True/EnoughReplicas", progressing: "False/RolloutHalted", stalled: "-",
		},
		"halted with all pods updated": {
			observed: RollingOut(Next(3, one), Pod(0, V2), Pod(1, V2), Pod(2, V2, Crashing)),
			ready:    "False/RolloutHalted", message: "every pod is updated to NEW, but too many fail: web-2: container app: CrashLoopBackOff: Error, exit code 3",
			available: "True/EnoughReplicas", progressing: "False/RolloutHalted", stalled: "-",
		},
		"halted with all pods updated, and paused": { // the pods are ready for a moment
			observed:  RollingOut(Next(3, one, Paused, Rollback, failedAt(time.Minute, "uid-web-2")), Pod(0, V2), Pod(1, V2), Pod(2, V2)),
			ready:     "False/RolloutHalted",
			message:   "every pod is updated to NEW, but too many fail: web-2: has failed, and has not been ready for long enough since; paused, so it is not rolled back",
			available: "True/EnoughReplicas", progressing: "False/RolloutHalted", stalled: "-",
		},
		"halted, and not recovered in time": {
			observed: RollingOut(Next(3, one, failingFor(time.Minute)), bad...),
			ready:    "False/RolloutHalted", message: "halted with 1 pod updated to NEW: web-2: container app: CrashLoopBackOff: Error, exit code 3",
			available: "True/EnoughReplicas", progressing: "False/RolloutHalted",
			stalled: "True/RolloutHalted: halted with 1 pod updated to NEW: web-2: container app: CrashLoopBackOff: Error, exit code 3",
		},
		"failing, onFailure Continue": {
			observed: RollingOut(Next(3, one, OnFailure(v1.ContinueOnFailure)), bad...),
			ready:    "False/RollingOut", message: "1 of 3 pods updated, 2 available; web-2: container app: CrashLoopBackOff: Error, exit code 3",
			available: "True/EnoughReplicas", progressing: "True/RollingOut", stalled: "-",
		},
		"rolled back with this status": {
			observed:  RollingOut(Next(3, one, rollback, failingFor(time.Minute)), bad...),
			ready:     "False/RolledBack",
			message:   "2 of 3 pods available; revision NEW has failed and is rolled back to OLD: web-2: container app: CrashLoopBackOff: Error, exit code 3",
			available: "True/EnoughReplicas", progressing: "True/RolledBack", stalled: "-",
		},
		"rolled back, the cause is lost": {
			observed:  RollingOut(Next(3, one, rollback, FailedNow), Pods3()...),
			ready:     "False/RolledBack",
			message:   "3 of 3 pods available; revision NEW has failed and is rolled back to OLD",
			available: "True/EnoughReplicas", progressing: "False/RolledBack",
			stalled: "True/RolledBack: revision NEW has failed and is rolled back to OLD",
		},
		"only in place, and that is impossible": {
			observed:  RollingOut(Next(3, env, one, InPlace(v1.InPlaceOnly, 0)), Pods3()...),
			ready:     "False/InPlaceImpossible",
			message:   "0 of 3 pods updated; pods may only be updated in place, but web-0: template.spec.containers[0].env differs",
			available: "True/EnoughReplicas", progressing: "False/InPlaceImpossible",
			stalled: "True/InPlaceImpossible: web-0: template.spec.containers[0].env differs",
		},
		"only in place, and the node refuses": {
			observed:  RollingOut(Next(3, one, InPlace(v1.InPlaceOnly, 0)), Pod(0), Pod(1), Pod(2, InPlaceTo("v2", 0, time.Second), infeasible)),
			ready:     "False/InPlaceImpossible",
			message:   "1 of 3 pods updated; pods may only be updated in place, but web-2: Infeasible: too big",
			available: "True/EnoughReplicas", progressing: "False/InPlaceImpossible",
			stalled: "True/InPlaceImpossible: web-2: Infeasible: too big",
		},
		"a pod crashes outside of a rollout": {
			observed: Observe(Manager(3), Pod(0), Pod(1), Pod(2, Crashing)),
			ready:    "False/PodsNotReady", message: "2 of 3 pods ready; web-2: container app: CrashLoopBackOff: Error, exit code 3",
			available: "False/NotEnoughReplicas", progressing: "True/WaitingForPods", stalled: "-",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := ReportOf(test.observed)
			named := strings.NewReplacer("NEW", report.Rollout.Revisions.Update.Name, "OLD", RevisionFor(Manager(0)).Name)
			status, _ := Compute(report)
			for kind, want := range map[string]string{
				v1.ConditionReady: test.ready, v1.ConditionAvailable: test.available,
				v1.ConditionProgressing: test.progressing,
			} {
				if got := brief(meta.FindStatusCondition(status.Conditions, kind)); got != want {
					t.Errorf("%s is %s, want %s", kind, got, want)
				}
			}
			if got, want := MessageIn(&status, v1.ConditionReady), named.Replace(test.message); got != want {
				t.Errorf("Ready says\n%q, want\n%q", got, want)
			}
			stalled := "-"
			if found := meta.FindStatusCondition(status.Conditions, v1.ConditionStalled); found != nil {
				stalled = brief(found) + ": " + found.Message
			}
			if want := named.Replace(test.stalled); stalled != want {
				t.Errorf("Stalled is\n%q, want\n%q", stalled, want)
			}
		})
	}
}

// If the node of a new pod stays silent, no event starts a sync. The controller syncs again all the same, and Ready then names the node.
func TestSilentNodeIsLookedAtAgain(t *testing.T) {
	s := Tell(t, Next(3, Limits("0", "1")), Pod(0), Pod(1), Pod(2, V2, Phase(corev1.PodPending), CreatedAgo(time.Second)))
	if _, again := Compute(ReportOf(s.O)); Until(again) != 29*time.Second {
		t.Errorf("the next sync is in %v", Until(again))
	}
	status := s.After(29 * time.Second)
	if message := MessageIn(&status, v1.ConditionReady); !strings.Contains(message, "node node-2 has not accepted the pod") {
		t.Errorf("Ready says %q", message)
	}
}

func TestMisconfigured(t *testing.T) {
	tests := map[string]struct {
		manager *v1.PodManager
		want    bool
		other   string // a different reason
	}{
		"one canary, and a threshold of three":               {manager: Manager(10, Limits("3", "3"), Partition("90%"), MaxFailed("3")), want: true},
		"a canary of three, and a threshold of three":        {manager: Manager(10, Limits("3", "3"), Partition("70%"), MaxFailed("3"))},
		"no pod is to be updated":                            {manager: Manager(10, Partition("100%"), MaxFailed("3"))},
		"OnDelete is never rolled back":                      {manager: Manager(3, Strategy(v1.OnDeleteStrategy), Rollback), other: v1.ReasonNoEffect},
		"the default":                                        {manager: Manager(3)},
		"one pod":                                            {manager: Manager(1)},
		"failureThreshold equals the quota":                  {manager: Manager(10, Limits("1", "1"), MaxFailed("2"))},
		"failureThreshold exceeds the quota":                 {manager: Manager(10, Limits("1", "1"), MaxFailed("3")), want: true},
		"failureThreshold as a percentage exceeds the quota": {manager: Manager(10, Limits("1", "1"), MaxFailed("30%")), want: true},
		"failureThreshold exceeds replicas":                  {manager: Manager(2, Limits("100%", "100%"), MaxFailed("3")), want: true},
		"Recreate":                                           {manager: Manager(3, Strategy(v1.RecreateStrategy), MaxFailed("3"))},
		"Recreate, failureThreshold exceeds replicas":        {manager: Manager(3, Strategy(v1.RecreateStrategy), MaxFailed("4")), want: true},
		"onFailure Continue":                                 {manager: Manager(10, Limits("1", "1"), MaxFailed("3"), OnFailure(v1.ContinueOnFailure))},
		"OnDelete":                                           {manager: Manager(3, Strategy(v1.OnDeleteStrategy), MaxFailed("4"))},
		"no pods":                                            {manager: Manager(0, MaxFailed("3"))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status, _ := Compute(Reported(test.manager))
			if got := ReasonIn(&status, v1.ConditionMisconfigured); (got == v1.ReasonUnreachable) != test.want || test.other != "" && got != test.other {
				t.Errorf("got %q", got)
			}
		})
	}
}

// The condition names all settings that cannot take effect. What matters most determines the reason.
func TestMisconfiguredTwice(t *testing.T) {
	graceful := func(m *v1.PodManager) {
		m.Spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{InPlaceGracePeriodSeconds: 10}
	}
	status, _ := Compute(Reported(Manager(3, graceful)))
	if got := ReasonIn(&status, v1.ConditionMisconfigured); got != v1.ReasonGraceNoEffect {
		t.Errorf("only the grace period: got %q", got)
	}
	status, _ = Compute(Reported(Manager(3, graceful, MaxFailed("10"))))
	message := MessageIn(&status, v1.ConditionMisconfigured)
	if got := ReasonIn(&status, v1.ConditionMisconfigured); got != v1.ReasonUnreachable || !strings.Contains(message, "failureThreshold") || !strings.Contains(message, "; rollingUpdate.inPlaceGracePeriodSeconds") {
		t.Errorf("got %q: %s", got, message)
	}
}

// If a rollout never reaches failureThreshold, the message names only settings that help.
func TestHowToReachFailureThreshold(t *testing.T) {
	for advice, m := range map[string]*v1.PodManager{
		"":                                      Manager(2, Limits("100%", "100%"), MaxFailed("3")),
		" or the partition":                     Manager(10, Limits("3", "3"), Partition("90%"), MaxFailed("3")),
		", or raise maxSurge or maxUnavailable": Manager(10, Limits("1", "1"), MaxFailed("3")),
		", or lower the partition and raise maxSurge or maxUnavailable": Manager(10, Limits("1", "1"), Partition("90%"), MaxFailed("3")),
	} {
		status, _ := Compute(Reported(m))
		if got := MessageIn(&status, v1.ConditionMisconfigured); !strings.HasSuffix(got, " ends the rollout; lower failureThreshold"+advice) {
			t.Errorf("got %q, want %q at the end", got, advice)
		}
	}
}

// A pod whose node is lost may stay Ready forever: neither the plan nor the status relies on it.
func TestPhaseUnknown(t *testing.T) {
	lost := func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }
	status, _ := Compute(Reported(Manager(2), Pod(0), Pod(1, lost)))
	if status.AvailableReplicas != 1 || status.ReadyReplicas != 1 || MessageIn(&status, v1.ConditionReady) != "1 of 2 pods ready; web-1: node node-1 is lost: the state of the pod is unknown" {
		t.Errorf("available %d, ready %d: %s", status.AvailableReplicas, status.ReadyReplicas, MessageIn(&status, v1.ConditionReady))
	}
	if got := ActionsOf(plan.Make(RollingOut(Next(2, Limits("0", "1")), Pod(0), Pod(1, lost)))); got != "+2 new, -1" {
		t.Errorf("plans %q", got)
	}
}

// Without a rollout, InPlaceOnly prevents nothing: a surplus pod is deleted.
func TestUnknownRevisionInPlaceOnly(t *testing.T) {
	ofLostRevision := Labelled(v1.LabelRevision, "unknown")
	o := Observe(Manager(3, InPlace(v1.InPlaceOnly, 0)), Pod(0), Pod(1), Pod(2), Pod(3, ofLostRevision, NotReady))
	if got := ActionsOf(plan.Make(o)); got != "-3" {
		t.Errorf("plans %q", got)
	}
	status, _ := Compute(ReportOf(Observe(Manager(3, InPlace(v1.InPlaceOnly, 0)), Pods3()...)))
	if ReasonIn(&status, v1.ConditionReady) != v1.ReasonAllAvailable || ReasonIn(&status, v1.ConditionStalled) != "" {
		t.Errorf("then Ready is %s, Stalled %s", ReasonIn(&status, v1.ConditionReady), ReasonIn(&status, v1.ConditionStalled))
	}
}
