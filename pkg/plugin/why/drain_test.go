package why_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
	. "github.com/mycompany/podmanager/pkg/plugin/why"
)

// drained returns web, whose pods on node-0 leave.
func drained(m *v1.PodManager, pods ...*corev1.Pod) snapshot.Snapshot {
	m.Spec.Disruption = &v1.Disruption{OnDrain: v1.ReplaceDrain}
	o := Observe(m, pods...)
	o.NodeOf = func(name string) leaving.Node {
		if name == "node-0" {
			return leaving.Node{Draining: "is cordoned"}
		}
		return leaving.Node{}
	}
	return seen(o)
}

func unschedulable(p *corev1.Pod) {
	Phase(corev1.PodPending)(p)
	p.Spec.NodeName = ""
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient cpu.",
		LastTransitionTime: metav1.NewTime(Now),
	})
}

// leavesForAge makes the status say that web-0 leaves because it is too old.
func leavesForAge(m *v1.PodManager) {
	m.Status.LeavingPods = []v1.LeavingPod{{Name: "web-0", Cause: v1.LeavingForAge}}
}

// Each reason of a pod that leaves has its cause, its evidence and its next command.
func TestFindLeaving(t *testing.T) {
	young := func(p *corev1.Pod) { p.CreationTimestamp.Time = Now.Add(-time.Minute) }
	aged := func(m *v1.PodManager) { m.Spec.Disruption = &v1.Disruption{MaxPodAgeSeconds: ptr.To[int32](3600)} }
	late := func(p *corev1.Pod) { NotReady(p); p.CreationTimestamp.Time = Now.Add(-time.Hour + 10*time.Minute) }
	forbidden := func(o *plan.Observed) { o.NodesForbidden = true }
	onDrain := func(m *v1.PodManager) { m.Spec.Disruption = &v1.Disruption{OnDrain: v1.ReplaceDrain} }
	isLeaving := "pod web-0 is leaving: node node-0 is cordoned"
	tests := map[string]struct {
		snapshot        snapshot.Snapshot
		cause, evidence string
		next            string
	}{
		"its replacement serves": {drained(Manager(1), Pod(0), Pod(1)), "Nothing blocks it: the replacements are available, and the drain may evict the pods that leave: ", isLeaving, ""},
		"no replacement yet":     {drained(Manager(1), Pod(0)), "A drain waits for replacements: 0 of 1 pod exists", isLeaving, "kubectl pm get web -w -n ns"},
		"no room": {drained(Manager(1), Pod(0), Pod(1, unschedulable)), "A drain waits for a replacement that no node takes: ", "3 Insufficient cpu",
			"kubectl describe pod web-1 -n ns|kubectl get nodes"},
		"not ready": {drained(Manager(1), Pod(0), Pod(1, NotReady)), "A drain waits for a replacement that is not ready: ", isLeaving, "kubectl describe pod web-1 -n ns"},
		"an old pod, and its replacement is late": {seen(Observe(Manager(1, aged, leavesForAge, Limits("1", "0")), Pod(0), Pod(1, Replacing("web-0"), late))),
			"The replacement of a pod that has reached maxPodAgeSeconds does not become available: ", "pod web-0 is leaving: due for replacement by maxPodAgeSeconds of 1h0m0s", "kubectl describe pod web-1 -n ns"},
		"an old pod, and its replacement starts": {seen(Observe(Manager(1, aged, leavesForAge, Limits("1", "0")), Pod(0), Pod(1, young, NotReady))),
			"Not all pods are ready: ", "pod web-0 is leaving: due for replacement by maxPodAgeSeconds of", "kubectl describe pod web-1 -n ns"},
		"no right to watch nodes": {seen(With(Observe(Manager(1, onDrain), Pod(0)), forbidden)), "Nothing blocks it, but a setting cannot take effect: ",
			"Misconfigured: NodesForbidden: disruption.onDrain",
			"kubectl create clusterrole podmanager-nodes --verb=list,watch --resource=nodes|" +
				"kubectl create clusterrolebinding podmanager-nodes --clusterrole=podmanager-nodes --serviceaccount=NAMESPACE:ACCOUNT"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Find(test.snapshot)
			if !strings.HasPrefix(got.Cause, test.cause) || !strings.Contains(strings.Join(got.Evidence, "|"), test.evidence) || strings.Join(got.Next, "|") != test.next {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// The answer names the PodDisruptionBudget for which a drain waits, and the next command, whether or not the controller replaces drained pods.
func TestAddDrain(t *testing.T) {
	floor := func(least, allowed int32) policyv1.PodDisruptionBudget {
		budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "floor"}}
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelManager: "web"}}
		budget.Spec.MinAvailable = ptr.To(intstr.FromInt32(least))
		budget.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, DesiredHealthy: least, CurrentHealthy: least + allowed}
		return budget
	}
	ignored := seen(Observe(Manager(1), Pod(0)))
	cordoned := map[string]string{"node-0": "is cordoned"}
	waits := "node node-0 is cordoned, and a drain waits: PodDisruptionBudget floor needs 1 healthy pod and has 1, so pod web-0 cannot be evicted"
	replace := `kubectl patch pm web --type merge -p '{"spec":{"disruption":{"onDrain":"Replace"}}}' -n ns`
	tests := map[string]struct {
		snapshot       snapshot.Snapshot
		budgets        []policyv1.PodDisruptionBudget
		draining       map[string]string
		evidence, next string
	}{
		"ignored, and it blocks":          {ignored, []policyv1.PodDisruptionBudget{floor(1, 0)}, cordoned, waits, replace},
		"ignored, nodes are not known":    {ignored, []policyv1.PodDisruptionBudget{floor(1, 0)}, nil, "", ""},
		"ignored, no drain":               {ignored, []policyv1.PodDisruptionBudget{floor(1, 0)}, map[string]string{"node-0": ""}, "", ""},
		"ignored, no budget":              {ignored, nil, cordoned, "", ""},
		"ignored, it lets one go":         {ignored, []policyv1.PodDisruptionBudget{floor(0, 1)}, cordoned, "", ""},
		"two budgets":                     {ignored, []policyv1.PodDisruptionBudget{floor(0, 1), floor(0, 1)}, cordoned, "PodDisruptionBudgets floor and floor both cover pod web-0", "kubectl get poddisruptionbudgets -n ns"},
		"replaced, not yet":               {drained(Manager(1), Pod(0)), []policyv1.PodDisruptionBudget{floor(1, 0)}, nil, "node node-0 is drained, and a drain waits: PodDisruptionBudget floor needs 1", ""},
		"replaced, and still too few":     {drained(Manager(1), Pod(0), Pod(1)), []policyv1.PodDisruptionBudget{floor(2, 0)}, nil, "PodDisruptionBudget floor needs 2", "kubectl edit poddisruptionbudget floor -n ns"},
		"replaced, and it may be evicted": {drained(Manager(1), Pod(0), Pod(1)), []policyv1.PodDisruptionBudget{floor(1, 1)}, nil, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got Answer
			got.AddDrain(test.snapshot, test.budgets, test.draining)
			evidence := strings.Join(got.Evidence, "|")
			if !strings.Contains(evidence, test.evidence) || (evidence == "") != (test.evidence == "") || strings.Join(got.Next, "|") != test.next {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// If a PodDisruptionBudget blocks a drain, the cause no longer says that nothing blocks the PodManager. Any other cause stays.
func TestCauseOfDrain(t *testing.T) {
	blocking := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "floor"}}
	blocking.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelManager: "web"}}
	open := *blocking.DeepCopy()
	open.Status.DisruptionsAllowed = 1
	waits, cordoned := "A drain waits, because pods may not be evicted: ", map[string]string{"node-0": "is cordoned"}
	baking := func(s snapshot.Snapshot) snapshot.Snapshot {
		for i := range s.Manager.Status.Conditions {
			if s.Manager.Status.Conditions[i].Type == v1.ConditionReady {
				s.Manager.Status.Conditions[i].Reason = v1.ReasonBaking
			}
		}
		return s
	}
	tests := map[string]struct {
		snapshot snapshot.Snapshot
		budgets  []policyv1.PodDisruptionBudget
		draining map[string]string
		want     string
	}{
		"the replacement serves":    {drained(Manager(1), Pod(0), Pod(1)), []policyv1.PodDisruptionBudget{blocking}, nil, waits},
		"the new revision bakes":    {baking(drained(Manager(1), Pod(0), Pod(1))), []policyv1.PodDisruptionBudget{blocking}, nil, waits},
		"drained pods are ignored":  {seen(Observe(Manager(1), Pod(0))), []policyv1.PodDisruptionBudget{blocking}, cordoned, waits},
		"two budgets":               {seen(Observe(Manager(1), Pod(0))), []policyv1.PodDisruptionBudget{open, open}, cordoned, waits},
		"the pod may be evicted":    {drained(Manager(1), Pod(0), Pod(1)), []policyv1.PodDisruptionBudget{open}, nil, "Nothing blocks it: the replacements are available"},
		"no replacement yet":        {drained(Manager(1), Pod(0)), []policyv1.PodDisruptionBudget{blocking}, nil, "A drain waits for replacements: "},
		"a rollout that has halted": {of(Crashing), []policyv1.PodDisruptionBudget{blocking}, cordoned, "The rollout is halted"},
		"a bake without a drain":    {baking(seen(Observe(Manager(1), Pod(0)))), []policyv1.PodDisruptionBudget{blocking}, cordoned, "All pods are updated"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Find(test.snapshot)
			got.AddDrain(test.snapshot, test.budgets, test.draining)
			if !strings.HasPrefix(got.Cause, test.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// The commands have names that others have chosen. A name cannot begin a new line.
func TestNextIsClean(t *testing.T) {
	answer := Answer{Cause: "c", Next: []string{"kubectl pm set image web a\nrm -rf .=IMAGE\x1b[2J"}}
	if got := strings.Join(answer.Lines(text.Style{}), "|"); got != "c||Next|  kubectl pm set image web a rm -rf .=IMAGE\ufffd[2J" {
		t.Errorf("got %q", got)
	}
}
