package plan_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// stopped makes a pod fail with this reason.
func stopped(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		Phase(corev1.PodFailed)(p)
		p.Status.Reason, p.Status.Message = reason, message
	}
}

// target adds the condition DisruptionTarget to a pod.
func target(status corev1.ConditionStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: status, Reason: corev1.PodReasonPreemptionByScheduler, Message: "made way",
		})
	}
}

// evicted makes a pod fail because its node is low on memory.
func evicted(p *corev1.Pod) {
	stopped("Evicted", "low on memory")(p)
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet,
	})
}

func TestDisruption(t *testing.T) {
	tests := map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"runs":                         {pod: Pod(0)},
		"failed by itself":             {pod: FailedPod(0, time.Second, 0)},
		"a deadline is the template's": {pod: Pod(0, stopped("DeadlineExceeded", "too long"))},
		"a sysctl that no node allows is the template's": {pod: Pod(0, stopped("SysctlForbidden", "no"))},
		"evicted, and all containers ended well":         {pod: Pod(0, Phase(corev1.PodSucceeded)), want: "Succeeded: see the events of the pod"},
		"preempted, and all containers ended well":       {pod: Pod(0, Phase(corev1.PodSucceeded), target(corev1.ConditionTrue)), want: "PreemptionByScheduler: made way"},
		"evicted":                             {pod: Pod(0, evicted), want: "Evicted: low on memory"},
		"evicted for more than its own limit": {pod: Pod(0, stopped("Evicted", "Usage of EmptyDir volume exceeds the limit"))},
		"node shut down":                      {pod: Pod(0, stopped("Terminated", "")), want: "Terminated"},
		"node was shutting down":              {pod: Pod(0, stopped("NodeShutdown", "rejected")), want: "NodeShutdown: rejected"},
		"preempted on the node":               {pod: Pod(0, stopped("Preempting", "")), want: "Preempting"},
		"node lost":                           {pod: Pod(0, stopped("NodeLost", "")), want: "NodeLost"},
		"no CPU left":                         {pod: Pod(0, stopped("OutOfcpu", "")), want: "OutOfcpu"},
		"no GPU left":                         {pod: Pod(0, stopped("OutOfexample.com/gpu", "")), want: "OutOfexample.com/gpu"},
		"not for this node":                   {pod: Pod(0, stopped("NodeAffinity", "")), want: "NodeAffinity"},
		"a device was not there":              {pod: Pod(0, stopped("UnexpectedAdmissionError", "")), want: "UnexpectedAdmissionError"},
		"a reason of a pod that runs":         {pod: Pod(0, func(p *corev1.Pod) { p.Status.Reason = "Evicted" })},
		"about to be preempted":               {pod: Pod(0, target(corev1.ConditionTrue)), want: "PreemptionByScheduler: made way"},
		"preempted":                           {pod: FailedPod(0, time.Second, 0, target(corev1.ConditionTrue)), want: "PreemptionByScheduler: made way"},
		"no longer about to be preempted":     {pod: Pod(0, target(corev1.ConditionFalse))},
		"its own reason says more":            {pod: Pod(0, stopped("SomethingNew", "of a later kubelet"), target(corev1.ConditionTrue)), want: "SomethingNew: of a later kubelet"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := podstate.Disruption(test.pod); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if test.want != "" && HasFailed(test.pod) {
				t.Error("it counts as a failure")
			}
		})
	}
}

// A disrupted pod is replaced like a failed one.
func TestDisruptedPodsAreReplaced(t *testing.T) {
	evictedAfter := func(index int, ago time.Duration, failures, disruptions string) *corev1.Pod {
		p := FailedPod(index, ago, 0, evicted)
		p.Annotations = map[string]string{v1.AnnotationFailuresBefore: failures, v1.AnnotationDisruptionsBefore: disruptions}
		return p
	}
	tests := map[string]struct {
		pod                   *corev1.Pod
		failures, disruptions int
		waits                 bool
	}{
		"the first disruption: replaced at once":            {pod: evictedAfter(0, time.Second, "", ""), failures: 1, disruptions: 1},
		"the second disruption: backoff":                    {pod: evictedAfter(0, time.Second, "1", "1"), waits: true},
		"the second disruption: replaced after the backoff": {pod: evictedAfter(0, 15*time.Second, "1", "1"), failures: 2, disruptions: 2},
		"a disruption after a failure":                      {pod: evictedAfter(0, 15*time.Second, "1", ""), failures: 2, disruptions: 1},
		"a failure after a disruption":                      {pod: FailedPod(0, 15*time.Second, 0, After(1), func(p *corev1.Pod) { p.Annotations[v1.AnnotationDisruptionsBefore] = "1" }), failures: 2, disruptions: 1},
		"a disruption after a long life":                    {pod: FailedPod(0, time.Second, 0, evicted, CreatedAgo(time.Hour), After(5)), failures: 1, disruptions: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Make(Observe(Manager(1), test.pod))
			if test.waits {
				if len(plan.Create) > 0 || plan.Waiting == nil {
					t.Errorf("it does not wait: %v", ActionsOf(plan))
				}
				return
			}
			if len(plan.Create) != 1 {
				t.Fatalf("not replaced: %v", ActionsOf(plan))
			}
			made := plan.Create[0]
			if made.FailuresBefore != test.failures || made.DisruptionsBefore != test.disruptions || made.Replaces != test.pod {
				t.Errorf("after %d failures, of which %d were disruptions, for %v", made.FailuresBefore, made.DisruptionsBefore, made.Replaces)
			}
		})
	}
}

// Disruptions neither halt nor roll back a new revision.
func TestDisruptionsCondemnNobody(t *testing.T) {
	m := Next(3, Limits("0", "1"), OnFailure(v1.RollbackOnFailure))
	grace := int32(0)
	m.Spec.FailurePolicy.GracePeriodSeconds = &grace
	replacement := Pod(3, V2, Phase(corev1.PodPending), After(1))
	replacement.Annotations[v1.AnnotationDisruptionsBefore] = "1"
	for name, pods := range map[string][]*corev1.Pod{
		"not replaced yet":                            {Pod(0), Pod(1), FailedPod(2, time.Second, 0, V2, evicted)},
		"the replacement is late":                     {Pod(0), Pod(1), FailedPod(2, time.Second, 0, V2, evicted), replacement},
		"its containers have terminated, the pod not": {Pod(0), Pod(1), Pod(2, V2, target(corev1.ConditionTrue), Container(Terminated("Error", 137), corev1.ContainerState{}), target(corev1.ConditionTrue))},
	} {
		t.Run(name, func(t *testing.T) {
			status, _ := status.Compute(ReportOf(RollingOut(m, pods...)))
			if ready := meta.FindStatusCondition(status.Conditions, v1.ConditionReady); status.FailedRevision != "" || ready.Reason != v1.ReasonRollingOut {
				t.Errorf("failed revision %q, Ready says %s: %s", status.FailedRevision, ready.Reason, ready.Message)
			} else if len(pods) != 3 || podstate.IsFinished(pods[2]) {
				if want := "; web-2 was stopped by its node: Evicted: low on memory"; !strings.Contains(ready.Message, want) {
					t.Errorf("Ready says %q, and not %q", ready.Message, want)
				}
			}
		})
	}
}

// A node that rejects all pods is not flooded with pods.
func TestAlwaysRejected(t *testing.T) {
	o := Observe(Manager(1))
	created := 0
	for second := range 3600 {
		o.Now = Now.Add(time.Duration(second) * time.Second)
		plan := Make(o)
		for _, deletion := range plan.Delete {
			o.Pods = without(o.Pods, deletion.Pod)
		}
		for _, creation := range plan.Create {
			p := NewPod(o.Manager, creation)
			p.CreationTimestamp.Time = o.Now
			stopped("OutOfcpu", "")(p)
			o.Pods = append(o.Pods, p)
			created++
			if creation.FailuresBefore != creation.DisruptionsBefore {
				t.Fatalf("%d failures, %d disruptions", creation.FailuresBefore, creation.DisruptionsBefore)
			}
		}
	}
	if limit := 13; created > limit {
		t.Errorf("%d pods created in an hour, want at most %d", created, limit)
	}
}
