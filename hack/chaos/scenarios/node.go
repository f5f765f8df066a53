package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// slowGate is a readiness gate that the scenario opens.
	slowGate = "chaos.mycompany.com/slow"
	// nodeGrace is how long failing pods have to recover, and slowStart how long pods take to become ready.
	nodeGrace = 3 * time.Second
	slowStart = nodeGrace + 3*time.Second
)

// nodeFault is a way in which a node ends a pod, with the status that a kubelet writes.
type nodeFault struct {
	reason, message string
	// disrupted is the reason of the condition DisruptionTarget of a pod that has run; empty for a pod that has not.
	disrupted string
}

var nodeFaults = []nodeFault{
	{"Evicted", "The node was low on resource: memory. Threshold quantity: 100Mi, available: 98Mi.", corev1.PodReasonTerminationByKubelet},
	{"OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 1000, capacity: 1000", ""},
	{"Terminated", "Pod was terminated in response to imminent node shutdown.", corev1.PodReasonTerminationByKubelet},
	{"NodeShutdown", "Pod was rejected as the node is shutting down.", ""},
	{"Preempting", "Preempted in order to admit critical pod", corev1.PodReasonTerminationByKubelet},
}

// nodeDidIt lets nodes end pods of the new revision in the middle of a rollout. Their replacements take longer to become ready than
// failing pods have to recover. The failures are not those of the revision: it is rolled out, and never blamed.
func nodeDidIt(a scene) {
	a.Start()
	a.Create("web", 6, arena.OwnerOptions{
		Spec: func(spec *v1.PodManagerSpec) {
			spec.FailurePolicy = v1.FailurePolicy{OnFailure: v1.RollbackOnFailure, GracePeriodSeconds: ptr.To(int32(nodeGrace / time.Second))}
		},
		Pod: func(template *corev1.PodTemplateSpec) {
			template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: slowGate}}
		},
	})
	ctx, stop := context.WithCancel(a.Ctx)
	defer stop()
	var slow atomic.Bool
	a.InParallel(func() { a.openGates(ctx, &slow) }, func() {
		defer stop()
		a.awaitCalm()
		a.Await("a revision to go back to", func() (string, bool) {
			manager := a.manager("web")
			return fmt.Sprint(manager.Status), manager.Status.CurrentRevision != ""
		})
		slow.Store(true)
		a.Update("web", "nginx:1.28")
		a.endPods("web", "nginx:1.28")
		if a.expectUnblamed("web") {
			slow.Store(false)
			a.Settle()
		}
	})
	a.Judge()
}

// manager is the present PodManager of this name.
func (a scene) manager(name string) (found *v1.PodManager) {
	a.Insist(func() (err error) {
		found, err = a.Cluster.Managers.AppsV1().PodManagers(a.Namespace).Get(a.Ctx, name, metav1.GetOptions{})
		return err
	})
	return found
}

// openGates makes pods ready: at once, or when they are old enough.
func (a scene) openGates(ctx context.Context, slow *atomic.Bool) {
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":"True"}]}}`, slowGate)
	for lab.Pause(ctx, 100*time.Millisecond) {
		for _, pod := range a.Pods() {
			isOpen := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == slowGate })
			isYoung := slow.Load() && time.Since(pod.CreationTimestamp.Time) < slowStart
			if !isOpen && !isYoung && pod.Status.Phase == corev1.PodRunning {
				a.Insist(func() error { return a.patchPodStatus(a.Ctx, pod.Name, patch) })
			}
		}
	}
}

// endPods ends updated pods as nodes do, one pod for each fault.
func (a scene) endPods(name, image string) {
	all := slices.Clone(nodeFaults)
	a.Random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if a.Short {
		all = all[:2]
	}
	for _, fault := range all {
		var victim corev1.Pod
		a.Await("an updated pod to end", func() (string, bool) {
			updated := slices.DeleteFunc(a.PodsOf(name), func(pod corev1.Pod) bool {
				return pod.Spec.Containers[0].Image != image || pod.Status.Phase != corev1.PodRunning || pod.Annotations[v1.AnnotationFailuresBefore] != ""
			})
			if len(updated) > 0 {
				victim = updated[a.Random.IntN(len(updated))]
			}
			blamed := a.manager(name).Status.FailedRevision != "" // a blamed revision may get no further pod
			return fmt.Sprint(len(updated)), len(updated) > 0 || blamed
		})
		if victim.Name == "" {
			return
		}
		a.Insist(func() error { return a.patchPodStatus(a.Ctx, victim.Name, fault.patch()) })
		a.Logf("pod %s ends: %s", victim.Name, fault.reason)
		lab.Pause(a.Ctx, time.Duration(a.Random.IntN(3000))*time.Millisecond)
	}
}

// patch is the patch of the status that the kubelet writes.
func (f nodeFault) patch() string {
	now := time.Now().UTC().Format(time.RFC3339)
	conditions := fmt.Sprintf(`{"type":"Ready","status":"False","reason":"PodFailed","lastTransitionTime":%q}`, now)
	containers := "null" // never started
	if f.disrupted != "" {
		conditions += fmt.Sprintf(`,{"type":%q,"status":"True","reason":%q,"message":%q,"lastTransitionTime":%q}`, corev1.DisruptionTarget, f.disrupted, f.message, now)
		containers = fmt.Sprintf(`[{"name":"app","image":"app","imageID":"","ready":false,"restartCount":0,
			"state":{"terminated":{"exitCode":137,"reason":"Error","startedAt":%[1]q,"finishedAt":%[1]q}}}]`, now)
	}
	return fmt.Sprintf(`{"status":{"phase":"Failed","reason":%q,"message":%q,"conditions":[%s],"containerStatuses":%s}}`, f.reason, f.message, conditions, containers)
}

// expectUnblamed waits for the end of the rollout, and checks that the revision was not blamed.
func (a scene) expectUnblamed(name string) bool {
	unblamed := true
	done := a.expect("I3", name, "the rollout to be complete", 2*time.Minute, func() (string, bool) {
		manager := a.manager(name)
		if manager.Status.FailedRevision != "" {
			unblamed = false
			a.Violate(faults.Violation{Invariant: "I3", Object: name + " blamed",
				What: fmt.Sprintf("revision %s was rolled back although nodes ended its pods; Ready says: %s", manager.Status.FailedRevision, a.condition(name, v1.ConditionReady))})
			return "", true
		}
		problems, err := a.Problems(a.Ctx)
		return fmt.Sprint(problems, err), err == nil && len(problems) == 0
	})
	events, err := a.Cluster.Kube.EventsV1().Events(a.Namespace).List(a.Ctx, metav1.ListOptions{FieldSelector: "reason=" + v1.EventRolledBack})
	a.Must(err)
	if unblamed && len(events.Items) > 0 {
		unblamed = false
		a.Violate(faults.Violation{Invariant: "I3", Object: name + " blamed", What: "an event says: " + events.Items[0].Note})
	}
	return done && unblamed
}
