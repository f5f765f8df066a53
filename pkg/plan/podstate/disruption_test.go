package podstate_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

func TestDisruption(t *testing.T) {
	tests := map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"runs":                         {pod: Pod(0)},
		"failed by itself":             {pod: FailedPod(0, time.Second, 0)},
		"a deadline is the template's": {pod: Pod(0, Stopped("DeadlineExceeded", "too long"))},
		"a sysctl that no node allows is the template's": {pod: Pod(0, Stopped("SysctlForbidden", "no"))},
		"evicted, and all containers ended well":         {pod: Pod(0, Phase(corev1.PodSucceeded)), want: "Succeeded: see the events of the pod"},
		"preempted, and all containers ended well":       {pod: Pod(0, Phase(corev1.PodSucceeded), Targeted(corev1.ConditionTrue)), want: "PreemptionByScheduler: made way"},
		"evicted":                             {pod: Pod(0, Evicted), want: "Evicted: low on memory"},
		"evicted for more than its own limit": {pod: Pod(0, Stopped("Evicted", "Usage of EmptyDir volume exceeds the limit"))},
		"node shut down":                      {pod: Pod(0, Stopped("Terminated", "")), want: "Terminated"},
		"node was shutting down":              {pod: Pod(0, Stopped("NodeShutdown", "rejected")), want: "NodeShutdown: rejected"},
		"preempted on the node":               {pod: Pod(0, Stopped("Preempting", "")), want: "Preempting"},
		"node lost":                           {pod: Pod(0, Stopped("NodeLost", "")), want: "NodeLost"},
		"no CPU left":                         {pod: Pod(0, Stopped("OutOfcpu", "")), want: "OutOfcpu"},
		"no GPU left":                         {pod: Pod(0, Stopped("OutOfexample.com/gpu", "")), want: "OutOfexample.com/gpu"},
		"not for this node":                   {pod: Pod(0, Stopped("NodeAffinity", "")), want: "NodeAffinity"},
		"a device was not there":              {pod: Pod(0, Stopped("UnexpectedAdmissionError", "")), want: "UnexpectedAdmissionError"},
		"a reason of a pod that runs":         {pod: Pod(0, func(p *corev1.Pod) { p.Status.Reason = "Evicted" })},
		"about to be preempted":               {pod: Pod(0, Targeted(corev1.ConditionTrue)), want: "PreemptionByScheduler: made way"},
		"preempted":                           {pod: FailedPod(0, time.Second, 0, Targeted(corev1.ConditionTrue)), want: "PreemptionByScheduler: made way"},
		"no longer about to be preempted":     {pod: Pod(0, Targeted(corev1.ConditionFalse))},
		"its own reason says more":            {pod: Pod(0, Stopped("SomethingNew", "of a later kubelet"), Targeted(corev1.ConditionTrue)), want: "SomethingNew: of a later kubelet"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := podstate.Disruption(test.pod); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if test.want != "" && HasFailed(test.pod) {
				t.Error("the disrupted pod counts as failing")
			}
		})
	}
}
