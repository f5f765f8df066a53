package status_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	. "github.com/mycompany/podmanager/pkg/plan/status"
)

// If a quota has no room for the surge, Ready names the quota, and the setting with which a rollout needs no surge. If desired pods are missing,
// Ready does not name that setting, because it would not help.
func TestQuotaForTheSurge(t *testing.T) {
	const quota, hint = `creating pod web-3: pods "web-3" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`,
		"; quota small has no room for the surge: raise it, or set maxUnavailable: 1 and maxSurge: 0"
	tests := map[string]struct {
		observed plan.Observed
		message  string
		want     string
	}{
		"a surge":              {RollingOut(Next(3, Limits("1", "0")), Pods3()...), quota, "3 of 3 pods exist; " + quota + hint},
		"a desired pod":        {RollingOut(Next(3, Limits("1", "0")), Pod(0), Pod(1)), quota, "2 of 3 pods exist; " + quota},
		"no surge":             {RollingOut(Next(3, Limits("0", "1")), Pods3()...), quota, "3 of 3 pods exist; " + quota},
		"not a rolling update": {RollingOut(Next(3, Strategy(v1.RecreateStrategy)), Pods3()...), quota, "3 of 3 pods exist; " + quota},
		"another refusal":      {RollingOut(Next(3, Limits("1", "0")), Pods3()...), "violates PodSecurity", "3 of 3 pods exist; violates PodSecurity"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := ReportOf(test.observed)
			report.Failure = &requeue.Failure{Condition: v1.ReasonFailedCreate, Reason: v1.ReasonForbidden, Message: test.message}
			status, _ := Compute(report)
			if got := MessageIn(&status, v1.ConditionReady); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// A quota that terminating pods still use needs no user: the controller continues once they are gone.
func TestQuotaOfTerminatingPods(t *testing.T) {
	const quota, other = `pods "web-3" is forbidden: exceeded quota: small, requested: pods=1`, "violates PodSecurity"
	overdue := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Now.Add(-time.Hour)} }
	tests := map[string]struct {
		pods    []*corev1.Pod
		message string
		stalled bool
	}{
		"one terminates":              {[]*corev1.Pod{Pod(0), Pod(1), Pod(2, Terminating)}, quota, false},
		"none terminates":             {[]*corev1.Pod{Pod(0), Pod(1)}, quota, true},
		"one does not go away":        {[]*corev1.Pod{Pod(0), Pod(1), Pod(2, overdue)}, quota, true},
		"the refusal is about others": {[]*corev1.Pod{Pod(0), Pod(1), Pod(2, Terminating)}, other, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := ReportOf(RollingOut(Next(3, Limits("0", "1")), test.pods...))
			report.Failure = &requeue.Failure{Condition: v1.ReasonFailedCreate, Reason: v1.ReasonForbidden, Message: test.message}
			status, _ := Compute(report)
			if got := meta.IsStatusConditionTrue(status.Conditions, v1.ConditionStalled); got != test.stalled {
				t.Errorf("Stalled is %v: %+v", got, status.Conditions)
			}
		})
	}
}

// A quota that refuses a revision says nothing about the surge.
func TestQuotaForRevisions(t *testing.T) {
	const refusal = `storing revision web-1: controllerrevisions.apps "web-1" is forbidden: exceeded quota: small, requested: controllerrevisions=1`
	report := ReportOf(RollingOut(Next(3, Limits("1", "0")), Pods3()...))
	report.Failure = &requeue.Failure{Condition: v1.ReasonFailedStore, Reason: v1.ReasonForbidden, Message: refusal}
	status, _ := Compute(report)
	if got, want := MessageIn(&status, v1.ConditionReady), "3 of 3 pods exist; "+refusal; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// If a hint is about several pods, it names one of them, with that pod's own cause, and counts the others.
func TestHintsAboutSeveralPods(t *testing.T) {
	leaves := []leaving.Pod{
		{Pod: Pod(0), Cause: leaving.Drained, Why: "node node-0 is cordoned"},
		{Pod: Pod(1), Cause: leaving.Lost, Why: "node node-1 was lost"},
		{Pod: Pod(2), Cause: leaving.Lost, Why: "node node-2 was lost"},
	}
	tests := map[string]struct {
		decided Decided
		want    string
	}{
		"one pod leaves":   {Decided{Leaving: leaves[:1]}, "; web-0 is leaving: node node-0 is cordoned"},
		"two pods leave":   {Decided{Leaving: leaves[:2]}, "; web-0 is leaving: node node-0 is cordoned; 1 more is leaving, too"},
		"three pods leave": {Decided{Leaving: leaves}, "; web-0 is leaving: node node-0 is cordoned; 2 more are leaving, too"},
		"one name is taken": {
			Decided{Foreign: []string{"web-0"}}, "; the name web-0 is skipped, because a pod that this PodManager does not control has it",
		},
		"three names are taken": {
			Decided{Foreign: []string{"web-0", "web-1", "web-3"}},
			"; the name web-0 and 2 more are skipped, because pods that this PodManager does not control have them",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := Reported(Manager(3), Pods3()...)
			report.Plan = test.decided
			status, _ := Compute(report)
			if got, want := MessageIn(&status, v1.ConditionReady), "3 of 3 pods available"+test.want; got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}
