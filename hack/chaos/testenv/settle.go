package testenv

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

const (
	// SettleLimit is how long it may take until everything is as wanted once the faults are over. client-go may wait for up to a minute of that
	// (untilBack of the scenarios) before it reopens a cut watch, and a busy machine needs some time for the rest.
	SettleLimit = 90 * time.Second
	// quietTime is how long the controller must then write nothing. It has quietTries attempts.
	quietTime, quietTries = 2500 * time.Millisecond, 6
	// recent is how long a scale-down may take before the remaining pods count as too many, and how old a status may be. It exceeds the
	// controller's staleLimit, which is how long the controller waits for a stalled watch. On a busy machine it is longer, see Slack.
	recent = 20 * time.Second
)

// Settle waits until everything is as the scenario wants it, and then until the controller is quiet. It is called when the faults are over. Each
// remaining difference is a violation.
func (e *Env) Settle() {
	began := time.Now()
	problems := e.AwaitSettled(SettleLimit)
	for _, problem := range problems {
		e.Violate(problem)
	}
	if len(problems) == 0 {
		e.Run.Converged(time.Since(began))
		e.Logf("settled after %v", time.Since(began).Round(time.Millisecond))
		e.StayQuiet()
	}
}

// IsOver reports whether a limit is exceeded. The limit is longer on a busy machine.
func (e *Env) IsOver(began time.Time, limit time.Duration) bool {
	return time.Since(began) > limit+Slack*e.Run.Latency.Slowest(began, time.Now())
}

// AwaitSettled waits until there are no differences. It returns the differences that remain when the time is up.
func (e *Env) AwaitSettled(limit time.Duration) []faults.Violation {
	began := time.Now()
	for {
		problems, err := e.Problems(e.Ctx)
		if err != nil {
			problems = []faults.Violation{{Invariant: "I3", Object: e.Namespace, What: err.Error()}}
		}
		switch {
		case len(problems) == 0, e.Ctx.Err() != nil: // an interrupted run proves nothing
			return nil
		case e.IsOver(began, limit):
			return problems
		}
		lab.Pause(e.Ctx, 100*time.Millisecond)
	}
}

// Problems compares the API server's objects with what is wanted.
func (e *Env) Problems(ctx context.Context) ([]faults.Violation, error) {
	owners, err := e.Contender.Owners(ctx, e.Namespace)
	if err != nil {
		return nil, err
	}
	list, err := e.Cluster.Kube.CoreV1().Pods(e.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	c := &comparison{wanted: e.Wants(), pods: map[types.UID][]*corev1.Pod{}, updates: e.Contender.Updates()}
	for i := range list.Items {
		pod := &list.Items[i]
		e.endOverdue(ctx, pod)
		if _, decoy := pod.Labels[faults.DecoyLabel]; !decoy || metav1.GetControllerOf(pod) != nil && isOwnerKind(metav1.GetControllerOf(pod)) {
			c.add(pod)
		}
	}
	for _, o := range owners {
		c.compare(o)
	}
	c.rest()
	return c.problems, nil
}

// rest reports the wanted owners that do not exist, and the pods that belong to no owner.
func (c *comparison) rest() {
	for _, name := range slices.Sorted(maps.Keys(c.wanted)) {
		c.problem("I3", name, "owner %s does not exist", name)
	}
	for _, pods := range c.pods {
		for _, pod := range pods {
			c.problem("I2", pod.Name, "pod %s is left, terminating: %v, node %q, finalizers %v, owner %s", pod.Name, pod.DeletionTimestamp != nil, pod.Spec.NodeName,
				pod.Finalizers, OwnerOf(pod))
		}
	}
}

// endOverdue deletes a terminating pod that its node has forgotten. After an outage of the API server, a kubelet would try again, but the simulated
// nodes do not.
func (e *Env) endOverdue(ctx context.Context, pod *corev1.Pod) {
	const overdue = 5 * time.Second
	if pod.DeletionTimestamp == nil || pod.Spec.NodeName == "" || len(pod.Finalizers) > 0 {
		return
	}
	grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
	if time.Since(pod.DeletionTimestamp.Add(-grace)) < overdue {
		return
	}
	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	if err := e.Cluster.Kube.CoreV1().Pods(e.Namespace).Delete(ctx, pod.Name, *options); err == nil {
		e.Logf("ended pod %s in place of its node", pod.Name)
	}
}

// OwnerOf returns the kind and name of a pod's controller.
func OwnerOf(pod *corev1.Pod) string {
	if ref := metav1.GetControllerOf(pod); ref != nil {
		return ref.Kind + " " + ref.Name
	}
	return "none"
}

func isOwnerKind(ref *metav1.OwnerReference) bool {
	return ref.Kind == "PodManager" || ref.Kind == "ReplicaSet"
}

// comparison compares the wanted owners with the existing owners and pods.
type comparison struct {
	wanted   map[string]Want
	pods     map[types.UID][]*corev1.Pod
	updates  bool
	problems []faults.Violation
}

func (c *comparison) add(pod *corev1.Pod) {
	uid := types.UID("")
	if ref := metav1.GetControllerOf(pod); ref != nil {
		uid = ref.UID
	}
	c.pods[uid] = append(c.pods[uid], pod)
}

func (c *comparison) problem(invariant, object, format string, arguments ...any) {
	c.problems = append(c.problems, faults.Violation{Invariant: invariant, Object: object, What: fmt.Sprintf(format, arguments...)})
}

func (c *comparison) compare(o Owner) {
	wanted, found := c.wanted[o.Name]
	if !found {
		c.problem("I2", o.Name, "owner %s is left, terminating: %v, finalizers %v", o.Name, o.deleting, o.Finalizers)
		return
	}
	delete(c.wanted, o.Name)
	active, ready := c.countPods(o, wanted)
	if active != wanted.Replicas || ready != wanted.Replicas || o.wanted != wanted.Replicas {
		c.problem("I3", o.Name, "%s has %d pods, %d ready; the user wants %d, the spec says %d; its conditions: %s",
			o.Name, active, ready, wanted.Replicas, o.wanted, o.Says)
	}
	if o.observed != o.generation || o.active != active || o.ready != ready || !o.done {
		c.problem("I5", o.Name, "%s: the status says %d pods, %d ready, generation %d, done %v; there are %d, %d ready, generation %d; its conditions: %s",
			o.Name, o.active, o.ready, o.observed, o.done, active, ready, o.generation, o.Says)
	}
}

// countPods counts an owner's active pods, and those of them that are ready. It reports pods that are terminating or have the wrong image.
func (c *comparison) countPods(o Owner, wanted Want) (active, ready int) {
	pods := c.pods[o.uid]
	delete(c.pods, o.uid)
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			c.problem("I3", o.Name, "pod %s is still terminating", pod.Name)
			continue
		}
		if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		active++
		if IsReady(pod) {
			ready++
		}
		if image := pod.Spec.Containers[0].Image; c.updates && wanted.Image != "" && image != wanted.Image {
			c.problem("I3", o.Name, "pod %s has image %s instead of %s", pod.Name, image, wanted.Image)
		}
	}
	return active, ready
}

// IsReady reports whether a pod is ready.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// StayQuiet checks in the audit log that the controller has stopped writing.
func (e *Env) StayQuiet() {
	log := e.AuditFromNow()
	var writes []audit.Request
	for range quietTries {
		lab.Pause(e.Ctx, quietTime)
		if writes = e.NextWrites(log); len(writes) == 0 {
			return
		}
	}
	e.Violate(faults.Violation{Invariant: "I3", Object: e.Namespace,
		What: fmt.Sprintf("the controller does not stop writing: %d writes in %v, the last was %v", len(writes), quietTime, writes[len(writes)-1])})
}

// AuditFromNow opens the audit log at its end. The log is closed when the run ends.
func (e *Env) AuditFromNow() *audit.Log {
	log, err := audit.Open(e.Cluster.AuditLog)
	e.Must(err)
	context.AfterFunc(e.Ctx, func() { _ = log.Close() })
	return log
}

// NextWrites returns the controller's writes in the namespace since the last call, except Leases.
func (e *Env) NextWrites(log *audit.Log) []audit.Request {
	requests, err := log.Read(e.Contender.User(), e.Namespace)
	e.Must(err)
	return slices.DeleteFunc(requests, func(r audit.Request) bool { return !r.IsWriteOf(e.Contender.User(), e.Namespace) })
}

// Judge records the violations that the oracle reports.
func (e *Env) Judge() {
	ctx, cancel := context.WithTimeout(e.Ctx, patience)
	defer cancel()
	slowest := e.Run.Latency.Slowest(e.Run.began, time.Now())
	e.Logf("the slowest write took %v", slowest.Round(time.Millisecond))
	report, err := e.Oracle.Report(ctx, recent+Slack*slowest, e.Blind)
	e.Must(err)
	for _, violation := range report.Violations {
		e.Violate(violation)
	}
	e.Run.saw(report.Versions, report.Gaps)
}
