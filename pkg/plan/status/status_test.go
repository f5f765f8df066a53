package status_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	. "github.com/mycompany/podmanager/pkg/plan/status"
)

func TestStatus(t *testing.T) {
	invalid := &requeue.Failure{Condition: v1.ReasonFailedCreate, Reason: v1.ReasonInvalidPod, Message: "no such volume"}
	passing := &requeue.Failure{Condition: v1.ReasonFailedCreate, Message: "connection refused"}
	minReady := func(m *v1.PodManager) { m.Spec.MinReadySeconds = 60 }
	crashing := Pod(1, Container(Waiting("CrashLoopBackOff", "back-off 5m0s restarting"), Terminated("Error", 3)))

	tests := map[string]struct {
		report Report
		// counts has the replicas: all, updated, ready, available and terminating.
		counts  [5]int32
		ready   string
		message string
		// available, progressing, stalled and failure are the status and reason of the other conditions, or "-" for a condition that must not
		// exist.
		available, progressing, stalled, failure string
		again                                    time.Duration
	}{
		"all available": {
			report: Report{Manager: Manager(3), Pods: Pods3()},
			counts: [5]int32{3, 3, 3, 3, 0},
			ready:  "True/AllReplicasAvailable", message: "3 of 3 pods available",
			available: "True/EnoughReplicas", progressing: "False/Complete", stalled: "-", failure: "-",
		},
		"none wanted": {
			report: Report{Manager: Manager(0), Pods: []*corev1.Pod{Pod(0, Terminating)}},
			counts: [5]int32{0, 0, 0, 0, 1},
			ready:  "True/ScaledToZero", message: "no pods wanted, none active",
			available: "True/EnoughReplicas", progressing: "False/Complete", stalled: "-", failure: "-",
		},
		"some missing": {
			report: Report{Manager: Manager(3), Pods: []*corev1.Pod{Pod(0), Pod(1, Phase(corev1.PodFailed))}},
			counts: [5]int32{1, 1, 1, 1, 0},
			ready:  "False/TooFewReplicas", message: "1 of 3 pods exist",
			available: "False/NotEnoughReplicas", progressing: "True/Scaling", stalled: "-", failure: "-",
		},
		"some too many": {
			report: Report{Manager: Manager(1), Pods: Pods3()},
			counts: [5]int32{3, 3, 3, 3, 0},
			ready:  "False/TooManyReplicas", message: "3 pods exist, 1 wanted",
			available: "True/EnoughReplicas", progressing: "True/Scaling", stalled: "-", failure: "-",
		},
		"one too many": {
			report: Report{Manager: Manager(0), Pods: []*corev1.Pod{Pod(0)}},
			counts: [5]int32{1, 1, 1, 1, 0},
			ready:  "False/TooManyReplicas", message: "1 pod exists, 0 wanted",
			available: "True/EnoughReplicas", progressing: "True/Scaling", stalled: "-", failure: "-",
		},
		"a released pod does not count": {
			report: Report{Manager: Manager(1), Pods: []*corev1.Pod{Pod(0), Pod(1, Labelled(v1.LabelManager, "debug"))}},
			counts: [5]int32{1, 1, 1, 1, 0},
			ready:  "True/AllReplicasAvailable", message: "1 of 1 pod available",
			available: "True/EnoughReplicas", progressing: "False/Complete", stalled: "-", failure: "-",
		},
		"one crashes": {
			report: Report{Manager: Manager(3), Pods: []*corev1.Pod{Pod(0, Phase(corev1.PodPending)), crashing, Pod(2)}},
			counts: [5]int32{3, 3, 1, 1, 0},
			ready:  "False/PodsNotReady", message: "1 of 3 pods ready; web-1: container app: CrashLoopBackOff: Error, exit code 3",
			available: "False/NotEnoughReplicas", progressing: "True/WaitingForPods", stalled: "-", failure: "-",
		},
		"ready but not for long enough": {
			report: Report{Manager: Manager(2, minReady), Pods: []*corev1.Pod{Pod(0, ReadyFor(15*time.Second)), Pod(1, ReadyFor(20*time.Second))}},
			counts: [5]int32{2, 2, 2, 0, 0},
			ready:  "False/WaitingForMinReadySeconds", message: "0 of 2 pods have been ready for 60 s",
			available: "False/NotEnoughReplicas", progressing: "True/WaitingForPods", stalled: "-", failure: "-",
			again: 40 * time.Second,
		},
		"the only pod is ready but not for long enough": {
			report: Report{Manager: Manager(1, minReady), Pods: []*corev1.Pod{Pod(0, ReadyFor(20*time.Second))}},
			counts: [5]int32{1, 1, 1, 0, 0},
			ready:  "False/WaitingForMinReadySeconds", message: "0 of 1 pod has been ready for 60 s",
			available: "False/NotEnoughReplicas", progressing: "True/WaitingForPods", stalled: "-", failure: "-",
			again: 40 * time.Second,
		},
		"ready for exactly long enough": {
			report: Report{Manager: Manager(1, minReady), Pods: []*corev1.Pod{Pod(0, ReadyFor(time.Minute))}},
			counts: [5]int32{1, 1, 1, 1, 0},
			ready:  "True/AllReplicasAvailable", message: "1 of 1 pod available",
			available: "True/EnoughReplicas", progressing: "False/Complete", stalled: "-", failure: "-",
		},
		"pods of an older template": {
			report: Report{Manager: Manager(2), Pods: []*corev1.Pod{Pod(0, Labelled(v1.LabelRevision, "old")), Pod(1)}},
			counts: [5]int32{2, 1, 2, 2, 0},
			ready:  "False/RollingOut", message: "1 of 2 pods updated, 2 available",
			available: "True/EnoughReplicas", progressing: "True/RollingOut", stalled: "-", failure: "-",
		},
		"refused": {
			report: Report{Manager: Manager(3), Pods: []*corev1.Pod{Pod(0)}, Failure: invalid},
			counts: [5]int32{1, 1, 1, 1, 0},
			ready:  "False/InvalidPod", message: "1 of 3 pods exist; no such volume",
			available: "False/NotEnoughReplicas", progressing: "False/InvalidPod", stalled: "True/InvalidPod", failure: "True/FailedCreate",
		},
		"failing for now": {
			report: Report{Manager: Manager(3), Pods: []*corev1.Pod{Pod(0)}, Failure: passing},
			counts: [5]int32{1, 1, 1, 1, 0},
			ready:  "False/FailedCreate", message: "1 of 3 pods exist; connection refused",
			available: "False/NotEnoughReplicas", progressing: "True/Scaling", stalled: "-", failure: "True/FailedCreate",
		},
		"being deleted": {
			report: Report{Manager: Manager(3, Deleting), Pods: []*corev1.Pod{Pod(0, Terminating), Pod(1)}},
			counts: [5]int32{1, 0, 1, 1, 1},
			ready:  "False/Terminating", message: "being deleted, 2 pods left",
			available: "False/NotEnoughReplicas", progressing: "True/Terminating", stalled: "-", failure: "-",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			complete := Reported(test.report.Manager, test.report.Pods...)
			complete.Failure = test.report.Failure
			status, again := Compute(complete)
			counts := [5]int32{status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas, status.TerminatingReplicas}
			if counts != test.counts {
				t.Errorf("replicas, updated, ready, available, terminating = %v, want %v", counts, test.counts)
			}
			for kind, want := range map[string]string{
				v1.ConditionReady: test.ready, v1.ConditionAvailable: test.available, v1.ConditionProgressing: test.progressing,
				v1.ConditionStalled: test.stalled, v1.ConditionReplicaFailure: test.failure,
			} {
				if got := brief(meta.FindStatusCondition(status.Conditions, kind)); got != want {
					t.Errorf("%s is %s, want %s", kind, got, want)
				}
			}
			if got := meta.FindStatusCondition(status.Conditions, v1.ConditionReady).Message; got != test.message {
				t.Errorf("message %q, want %q", got, test.message)
			}
			if Until(again) != test.again {
				t.Errorf("syncs again after %v, want %v", again, test.again)
			}
			if status.ObservedGeneration != 7 || status.Selector != "podmanager=web" || status.Image != "nginx" {
				t.Errorf("generation %d, selector %q, image %q", status.ObservedGeneration, status.Selector, status.Image)
			}
		})
	}
}

func brief(condition *metav1.Condition) string {
	if condition == nil {
		return "-"
	}
	return string(condition.Status) + "/" + condition.Reason
}

func TestStatusKeepsTransitionTimes(t *testing.T) {
	m := Manager(3)
	report := Reported(m, Pods3()...)
	report.Failure = &requeue.Failure{Condition: v1.ReasonFailedDelete, Message: "x"}
	first, _ := Compute(report)
	m.Status = first
	report.Failure, report.Now = nil, Now.Add(time.Hour)
	later, _ := Compute(report)
	if meta.FindStatusCondition(later.Conditions, v1.ConditionReplicaFailure) != nil {
		t.Error("ReplicaFailure stays after the failure is over")
	}
	if got := meta.FindStatusCondition(later.Conditions, v1.ConditionAvailable).LastTransitionTime; !got.Time.Equal(Now) {
		t.Errorf("Available has transition time %v although it has not changed since %v", got, Now)
	}
	if got := meta.FindStatusCondition(later.Conditions, v1.ConditionReady).LastTransitionTime; !got.Time.Equal(Now.Add(time.Hour)) {
		t.Errorf("Ready has transition time %v, want %v", got, Now.Add(time.Hour))
	}
	if meta.FindStatusCondition(first.Conditions, v1.ConditionReplicaFailure) == nil {
		t.Error("the status given was changed")
	}
}

func TestPodNamesAreSortedAndBounded(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 120 {
		pods = append(pods, Pod(119-i))
	}
	status, _ := Compute(Reported(Manager(120), pods...))
	if len(status.PodNames) != 100 || status.PodNames[2] != "web-2" || status.PodNames[99] != "web-99" {
		t.Errorf("podNames has %d entries: %v", len(status.PodNames), status.PodNames)
	}
}
