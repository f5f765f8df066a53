package main

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
	// settleLimit is how long it may take, once the faults are over, until everything is as wanted. client-go may wait for up to a
	// minute of that (untilBack) before it opens a cut watch again, and a busy machine needs some time for the rest.
	settleLimit = 90 * time.Second
	// quietTime is how long the controller must write nothing then, within quietTries tries.
	quietTime, quietTries = 2500 * time.Millisecond, 6
	// recent is how long a scale-down may take before the remaining pods count as too many, and how old a status may be. It is above
	// the controller's staleLimit, the time for which it waits for a stalled watch. On a busy machine it is longer, see slack.
	recent = 20 * time.Second
)

// settle waits until everything is as the scenario wants it, and then until the controller is quiet. The time runs from now, when
// the faults are over. Any difference in the end is a violation.
func (a *arena) settle() {
	began := time.Now()
	problems := a.awaitSettled(settleLimit)
	for _, problem := range problems {
		a.violate(problem)
	}
	if len(problems) == 0 {
		a.run.converged(time.Since(began))
		a.logf("settled after %v", time.Since(began).Round(time.Millisecond))
		a.stayQuiet()
	}
}

// isOver tells whether something has taken longer than a limit, which is longer on a busy machine.
func (a *arena) isOver(began time.Time, limit time.Duration) bool {
	return time.Since(began) > limit+slack*a.run.pulse.slowest(began, time.Now())
}

// awaitSettled returns the differences that are left when the time is up.
func (a *arena) awaitSettled(limit time.Duration) []faults.Violation {
	began := time.Now()
	for {
		problems, err := a.problems(a.ctx)
		if err != nil {
			problems = []faults.Violation{{Invariant: "I3", Object: a.namespace, What: err.Error()}}
		}
		switch {
		case len(problems) == 0, a.ctx.Err() != nil: // an interrupted run proves nothing
			return nil
		case a.isOver(began, limit):
			return problems
		}
		lab.Pause(a.ctx, 100*time.Millisecond)
	}
}

// problems compares the objects, as the API server has them, with what is wanted.
func (a *arena) problems(ctx context.Context) ([]faults.Violation, error) {
	owners, err := a.contender.owners(ctx, a.namespace)
	if err != nil {
		return nil, err
	}
	list, err := a.cluster.Kube.CoreV1().Pods(a.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	c := &comparison{wanted: a.wants(), pods: map[types.UID][]*corev1.Pod{}, updates: a.contender.updates()}
	for i := range list.Items {
		pod := &list.Items[i]
		a.endOverdue(ctx, pod)
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

// rest finds the pods that are left when all owners have been compared.
func (c *comparison) rest() {
	for _, name := range slices.Sorted(maps.Keys(c.wanted)) {
		c.problem("I3", name, "%s is gone", name)
	}
	for _, pods := range c.pods {
		for _, pod := range pods {
			c.problem("I2", pod.Name, "pod %s is left, ending: %v, node %q, finalizers %v, owner %s", pod.Name, pod.DeletionTimestamp != nil, pod.Spec.NodeName,
				pod.Finalizers, ownerOf(pod))
		}
	}
}

// endOverdue deletes a pod that its node has forgotten. A kubelet would try again after the API server was away; the simulated nodes
// do not.
func (a *arena) endOverdue(ctx context.Context, pod *corev1.Pod) {
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
	if err := a.cluster.Kube.CoreV1().Pods(a.namespace).Delete(ctx, pod.Name, *options); err == nil {
		a.logf("ended pod %s in place of its node", pod.Name)
	}
}

func ownerOf(pod *corev1.Pod) string {
	if ref := metav1.GetControllerOf(pod); ref != nil {
		return ref.Kind + " " + ref.Name
	}
	return "none"
}

func isOwnerKind(ref *metav1.OwnerReference) bool {
	return ref.Kind == "PodManager" || ref.Kind == "ReplicaSet"
}

// comparison compares the wanted owners with the existing pods.
type comparison struct {
	wanted   map[string]want
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

func (c *comparison) compare(o owner) {
	wanted, found := c.wanted[o.name]
	if !found {
		c.problem("I2", o.name, "%s is left, ending: %v, finalizers %v", o.name, o.deleting, o.finalizers)
		return
	}
	delete(c.wanted, o.name)
	pods := c.pods[o.uid]
	delete(c.pods, o.uid)
	active, ready := 0, 0
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			c.problem("I3", o.name, "pod %s is still ending", pod.Name)
			continue
		}
		if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		active++
		if isReady(pod) {
			ready++
		}
		if image := pod.Spec.Containers[0].Image; c.updates && wanted.image != "" && image != wanted.image {
			c.problem("I3", o.name, "pod %s has image %s instead of %s", pod.Name, image, wanted.image)
		}
	}
	if active != wanted.replicas || ready != wanted.replicas || o.wanted != wanted.replicas {
		c.problem("I3", o.name, "%s has %d pods, %d ready; wanted are %d, says the user, and %d, says the spec; it says: %s",
			o.name, active, ready, wanted.replicas, o.wanted, o.says)
	}
	if o.observed != o.generation || o.active != active || o.ready != ready || !o.done {
		c.problem("I5", o.name, "%s says %d pods, %d ready, of generation %d, and done: %v; there are %d, %d ready, and generation is %d; it says: %s",
			o.name, o.active, o.ready, o.observed, o.done, active, ready, o.generation, o.says)
	}
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// stayQuiet checks in the audit log whether the controller has stopped writing.
func (a *arena) stayQuiet() {
	log := a.auditFromNow()
	var writes []audit.Request
	for range quietTries {
		lab.Pause(a.ctx, quietTime)
		if writes = a.nextWrites(log); len(writes) == 0 {
			return
		}
	}
	a.violate(faults.Violation{Invariant: "I3", Object: a.namespace,
		What: fmt.Sprintf("the controller does not stop writing: %d writes in %v, the last was %v", len(writes), quietTime, writes[len(writes)-1])})
}

// auditFromNow opens the audit log at its end, until the run ends.
func (a *arena) auditFromNow() *audit.Log {
	log, err := audit.Open(a.cluster.AuditLog)
	a.must(err)
	context.AfterFunc(a.ctx, func() { _ = log.Close() })
	return log
}

// nextWrites are what the controller has written in the namespace since the last call, without its Leases.
func (a *arena) nextWrites(log *audit.Log) []audit.Request {
	requests, err := log.Read(a.contender.user(), a.namespace)
	a.must(err)
	return slices.DeleteFunc(requests, func(r audit.Request) bool { return !r.IsWriteOf(a.contender.user(), a.namespace) })
}

// judge asks the oracle for its report.
func (a *arena) judge() {
	ctx, cancel := context.WithTimeout(a.ctx, patience)
	defer cancel()
	slowest := a.run.pulse.slowest(a.run.began, time.Now())
	a.logf("the slowest write took %v", slowest.Round(time.Millisecond))
	report, err := a.oracle.Report(ctx, recent+slack*slowest, a.blind)
	a.must(err)
	for _, violation := range report.Violations {
		a.violate(violation)
	}
	a.run.saw(report.Versions, report.Gaps)
}
