package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// namespaceTerminating deletes the namespace while the controller creates pods in it. From then on the API server refuses every
// create, and pods disappear that the controller would replace.
func namespaceTerminating(a *arena) {
	replicas := 300
	if a.short {
		replicas = 60
	}
	a.start()
	log := a.auditFromNow()
	a.create("web", replicas, ownerOptions{})
	a.create("db", 3, ownerOptions{})
	a.await("some pods", func() (string, bool) { n := len(a.pods()); return fmt.Sprint(n), n >= replicas/10 })
	a.must(a.cluster.Kube.CoreV1().Namespaces().Delete(a.ctx, a.namespace, metav1.DeleteOptions{}))
	a.logf("deleted the namespace at %d pods", len(a.pods()))
	for name := range a.wants() {
		a.unset(name)
	}
	began := time.Now()
	lab.Pause(a.ctx, 2*time.Second)
	late := a.auditFromNow()
	gone := a.expect("I2", a.namespace, "the namespace to be gone", settleLimit, func() (string, bool) {
		namespace, err := a.cluster.Kube.CoreV1().Namespaces().Get(a.ctx, a.namespace, metav1.GetOptions{})
		return fmt.Sprint(namespace.Status.Conditions), apierrors.IsNotFound(err)
	})
	if gone {
		a.run.converged(time.Since(began))
	}
	// The present batch may fail as a whole; later the controller should know that the namespace is terminating.
	a.boundErrors("in all", log, replicas*2/3)
	a.boundErrors("from 2 s after its deletion on", late, replicas/5)
	a.settle()
	a.judge()
}

// boundErrors checks how many writes have failed since a time.
func (a *arena) boundErrors(when string, since *audit.Log, most int) {
	errors := unsuccessful(a.nextWrites(since))
	a.logf("%d writes failed %s", len(errors), when)
	if len(errors) > most {
		a.violate(faults.Violation{Invariant: "I3", Object: a.namespace + " " + when,
			What: fmt.Sprintf("%d writes failed while the namespace was deleted, %s, more than %d; the last was %v", len(errors), when, most, errors[len(errors)-1])})
	}
}

// deletionWithCrashes kills the controller at every write of a deletion of each kind.
func deletionWithCrashes(a *arena) {
	a.sweepAll(
		deletion("foreground", metav1.DeletePropagationForeground),
		deletion("background", metav1.DeletePropagationBackground),
		orphaning(),
	)
}

// deletion deletes an owner with its pods, which take a second to terminate, so that the controller can be killed meanwhile.
func deletion(name string, policy metav1.DeletionPropagation) operation {
	return operation{
		name: name, before: 3,
		options: ownerOptions{
			spec: paced,
			pod:  func(template *corev1.PodTemplateSpec) { template.Spec.TerminationGracePeriodSeconds = ptr.To(int64(1)) },
		},
		do: func(a *arena, name string) { a.removeWith(name, policy) },
	}
}

// orphaning deletes an owner without its pods.
func orphaning() operation {
	op := deletion("orphan", metav1.DeletePropagationOrphan)
	var before []corev1.Pod
	op.do = func(a *arena, name string) {
		before = slices.DeleteFunc(a.pods(), func(pod corev1.Pod) bool { return pod.Labels[a.contender.selectorLabel()] != name })
		a.removeWith(name, metav1.DeletePropagationOrphan)
	}
	op.after = func(a *arena, name string) {
		if a.awaitGone(name) {
			a.checkOrphans(before)
		}
	}
	return op
}

// awaitGone waits until there is no owner of this name. If it stays for too long, settle reports it.
func (a *arena) awaitGone(name string) bool {
	ctx, cancel := context.WithTimeout(a.ctx, settleLimit)
	defer cancel()
	for {
		owners, err := a.contender.owners(ctx, a.namespace)
		if err == nil && !slices.ContainsFunc(owners, func(o owner) bool { return o.name == name }) {
			return true
		}
		if !lab.Pause(ctx, 50*time.Millisecond) {
			return false
		}
	}
}

// checkOrphan checks whether a pod goes on as before without an owner, and makes it a decoy.
func (a *arena) checkOrphan(before *corev1.Pod) {
	pods := a.cluster.Kube.CoreV1().Pods(a.namespace)
	wrong := func(invariant, format string, arguments ...any) {
		a.violate(faults.Violation{Invariant: invariant, Object: before.Name, What: fmt.Sprintf("orphaned pod %s ", before.Name) + fmt.Sprintf(format, arguments...)})
	}
	pod, err := pods.Get(a.ctx, before.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		wrong("I4", "was deleted")
		return
	case err != nil:
		wrong("I3", "cannot be read: %v", err)
		return
	case pod.UID != before.UID || pod.DeletionTimestamp != nil:
		wrong("I4", "was deleted; it had UID %s, and the present pod has %s, terminating: %v", before.UID, pod.UID, pod.DeletionTimestamp != nil)
	case pod.Status.Phase != before.Status.Phase:
		wrong("I4", "has phase %s instead of %s", pod.Status.Phase, before.Status.Phase)
	case len(pod.OwnerReferences) > 0:
		wrong("I2", "still has an owner that is gone: %v", pod.OwnerReferences)
	}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:""}}}`, pod.UID, faults.DecoyLabel)
	if _, err := pods.Patch(a.ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		wrong("I3", "cannot be marked: %v", err)
	}
}

// removeWith deletes an owner with a propagation policy, which decides about its pods.
func (a *arena) removeWith(name string, policy metav1.DeletionPropagation) {
	a.insist(func() error {
		return a.contender.delete(a.ctx, a.namespace, name, metav1.DeleteOptions{PropagationPolicy: &policy})
	})
	a.unset(name)
	a.logf("delete %s, %s", name, policy)
}

// orphanApart orphans the pods of an owner while the controller sees neither. Then the controller sees the owner again, but not the pods:
// the garbage collector has removed their owner references, and the controller's cache still has them. The pods must stay.
func orphanApart(a *arena) {
	rounds := 3
	if a.short {
		rounds = 1
	}
	a.start()
	for i := range rounds {
		name := fmt.Sprintf("web-%d", i)
		a.create(name, 4, ownerOptions{spec: paced})
		a.awaitCalm()
		a.orphanUnseen(name, i%2 == 0)
	}
	a.settle()
	a.judge()
}

// orphanUnseen makes one such deletion. If the versions in between are lost, the controller sees only the last one.
func (a *arena) orphanUnseen(name string, lost bool) {
	before := a.podsOf(name)
	podWatch, ownerWatch := a.own("watch", "pods"), a.own("watch", a.contender.resource())
	pods, owners := a.proxy.Stall(podWatch), a.proxy.Stall(ownerWatch)
	a.removeWith(name, metav1.DeletePropagationOrphan)
	a.await("the garbage collector to let the pods go", func() (string, bool) {
		all, err := a.contender.owners(a.ctx, a.namespace)
		a.must(err)
		waits := slices.ContainsFunc(all, func(o owner) bool { return slices.Contains(o.finalizers, metav1.FinalizerOrphanDependents) })
		return fmt.Sprintf("%v, %d pods with an owner", all, len(a.podsOf(name))), !waits && len(a.podsOf(name)) == 0
	})
	if lost {
		a.cutForGood(owners, ownerWatch)
	} else {
		owners.Resume()
	}
	a.logf("the controller sees the owners again, and not the pods")
	// The controller may take its time to remove its finalizer, but must not delete a pod.
	if !a.awaitGone(name) {
		a.violate(faults.Violation{Invariant: "I2", Object: name, What: name + " does not go although all its pods are released"})
	}
	lab.Pause(a.ctx, time.Duration(a.random.IntN(3000))*time.Millisecond)
	a.endStall(pods, podWatch)
	a.checkOrphans(before)
}

// checkOrphans checks pods that must stay.
func (a *arena) checkOrphans(before []corev1.Pod) {
	for _, pod := range before {
		a.checkOrphan(&pod)
	}
}

// collectorAway deletes an owner and creates another of the same name while no garbage collector runs. This stands for a garbage collector
// that misses the deletion because its watch breaks between the two. The second owner must not wait for ever for the names of the first
// owner's pods and revisions, and nothing of the first owner may stay.
func collectorAway(a *arena) {
	const collector = "kube-controller-manager"
	a.start()
	a.create("web", 4, ownerOptions{})
	a.awaitCalm()
	before := map[types.UID]bool{}
	for _, pod := range a.podsOf("web") {
		before[pod.UID] = true
	}
	a.must(a.cluster.Signal(collector, syscall.SIGKILL))
	a.logf("killed the garbage collector")
	a.replace("web", 3)
	a.expect("I2", "web", "the pods of the first owner to be gone", settleLimit, func() (string, bool) {
		left := slices.DeleteFunc(a.podsOf("web"), func(pod corev1.Pod) bool { return !before[pod.UID] })
		return fmt.Sprintf("%d are left", len(left)), len(left) == 0
	})
	a.must(a.cluster.Repair(a.ctx))
	a.logf("the whole control plane runs again")
	a.settle()
	a.judge()
}
