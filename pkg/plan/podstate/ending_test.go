package podstate_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// ended returns the status of a container that was restarted after a termination with this reason and exit code.
func ended(name, reason string, code int32, ago time.Duration) corev1.ContainerStatus {
	last := Terminated(reason, code)
	last.Terminated.FinishedAt = metav1.NewTime(Now.Add(-ago))
	return corev1.ContainerStatus{Name: name, RestartCount: 1, LastTerminationState: last}
}

// withRule returns a container with a restart rule for exit code 42.
func withRule(name string, action corev1.ContainerRestartRuleAction, operator corev1.ContainerRestartRuleOnExitCodesOperator) corev1.Container {
	return corev1.Container{Name: name, RestartPolicyRules: []corev1.ContainerRestartRule{
		{Action: action, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: []int32{42}}},
	}}
}

// The test checks which terminations of the container app say nothing about the revision.
func TestExcusedEnds(t *testing.T) {
	const in, notIn = corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn
	restart, all := corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers
	tests := map[string]struct {
		specs    []corev1.Container
		statuses []corev1.ContainerStatus
		want     bool
	}{
		"an error":                            {statuses: []corev1.ContainerStatus{ended("app", "Error", 1, 0)}},
		"a reboot of its node":                {statuses: []corev1.ContainerStatus{ended("app", "Unknown", 255, 0)}, want: true},
		"an end that the kubelet missed":      {statuses: []corev1.ContainerStatus{ended("app", "ContainerStatusUnknown", 137, 0)}, want: true},
		"an exit code of 255":                 {statuses: []corev1.ContainerStatus{ended("app", "Error", 255, 0)}},
		"an exit that its rule expects":       {specs: []corev1.Container{withRule("app", restart, in)}, statuses: []corev1.ContainerStatus{ended("app", "Error", 42, 0)}, want: true},
		"an exit that its rule does not name": {specs: []corev1.Container{withRule("app", restart, in)}, statuses: []corev1.ContainerStatus{ended("app", "Error", 41, 0)}},
		"any exit but the one that is named":  {specs: []corev1.Container{withRule("app", restart, notIn)}, statuses: []corev1.ContainerStatus{ended("app", "Error", 41, 0)}, want: true},
		"another container restarts all": {
			specs:    []corev1.Container{withRule("main", all, in), {Name: "app"}},
			statuses: []corev1.ContainerStatus{ended("main", "Error", 42, 12*time.Second), ended("app", "Error", 137, 10*time.Second)}, want: true,
		},
		"another container restarts itself": {
			specs:    []corev1.Container{withRule("main", restart, in), {Name: "app"}},
			statuses: []corev1.ContainerStatus{ended("main", "Error", 42, 12*time.Second), ended("app", "Error", 137, 10*time.Second)},
		},
		"another container restarts all, in the same second": {
			specs:    []corev1.Container{withRule("main", all, in), {Name: "app"}},
			statuses: []corev1.ContainerStatus{ended("main", "Error", 42, 10*time.Second), ended("app", "Error", 137, 10*time.Second)}, want: true,
		},
		"another container restarts all, and this one takes a minute": {
			specs:    []corev1.Container{withRule("main", all, in), {Name: "app"}},
			statuses: []corev1.ContainerStatus{ended("main", "Error", 42, 70*time.Second), ended("app", "Error", 137, 10*time.Second)}, want: true,
		},
		"another container has restarted all long ago": {
			specs:    []corev1.Container{withRule("main", all, in), {Name: "app"}},
			statuses: []corev1.ContainerStatus{ended("main", "Error", 42, time.Hour), ended("app", "Error", 1, 10*time.Second)},
		},
		"another container restarts all, after it has crashed": {
			specs:    []corev1.Container{withRule("main", all, in), {Name: "app"}},
			statuses: []corev1.ContainerStatus{ended("main", "Error", 42, 10*time.Second), ended("app", "Error", 1, 12*time.Second)},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := Pod(0)
			pod.Status.ContainerStatuses = test.statuses
			if test.specs != nil {
				pod.Spec.Containers = test.specs
			}
			trimmed := pod.DeepCopy()
			podstate.Trim(trimmed)
			for what, pod := range map[string]*corev1.Pod{"complete": pod, "trimmed": trimmed} {
				app := &pod.Status.ContainerStatuses[len(test.statuses)-1]
				if got := podstate.IsExcused(pod, app, app.LastTerminationState.Terminated); got != test.want {
					t.Errorf("%s: excused: %v", what, got)
				}
				if got := ShowsFailure(Manager(3), pod); got == test.want {
					t.Errorf("%s: counts as a failure: %v", what, got)
				}
			}
		})
	}
}
