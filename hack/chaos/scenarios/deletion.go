package scenarios

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

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// namespaceTerminating deletes the namespace while the controller creates pods in it. From then on the API server refuses every
// create, and pods disappear that the controller would replace.
func namespaceTerminating(a scene) {
	replicas := 300
	if a.Short {
		replicas = 60
	}
	a.Start()
	log := a.AuditFromNow()
	a.Create("web", replicas, arena.OwnerOptions{})
	a.Create("db", 3, arena.OwnerOptions{})
	a.Await("some pods", func() (string, bool) { n := len(a.Pods()); return fmt.Sprint(n), n >= replicas/10 })
	a.Must(a.Cluster.Kube.CoreV1().Namespaces().Delete(a.Ctx, a.Namespace, metav1.DeleteOptions{}))
	a.Logf("deleted the namespace at %d pods", len(a.Pods()))
	for name := range a.Wants() {
		a.Unset(name)
	}
	began := time.Now()
	lab.Pause(a.Ctx, 2*time.Second)
	late := a.AuditFromNow()
	gone := a.expect("I2", a.Namespace, "the namespace to be gone", arena.SettleLimit, func() (string, bool) {
		namespace, err := a.Cluster.Kube.CoreV1().Namespaces().Get(a.Ctx, a.Namespace, metav1.GetOptions{})
		return fmt.Sprint(namespace.Status.Conditions), apierrors.IsNotFound(err)
	})
	if gone {
		a.Run.Converged(time.Since(began))
	}
	// The present batch may fail as a whole; later the controller should know that the namespace is terminating.
	a.boundErrors("in all", log, replicas*2/3)
	a.boundErrors("from 2 s after its deletion on", late, replicas/5)
	a.Settle()
	a.Judge()
}

// boundErrors checks how many writes have failed since a time.
func (a scene) boundErrors(when string, since *audit.Log, most int) {
	errors := unsuccessful(a.NextWrites(since))
	a.Logf("%d writes failed %s", len(errors), when)
	if len(errors) > most {
		a.Violate(faults.Violation{Invariant: "I3", Object: a.Namespace + " " + when,
			What: fmt.Sprintf("%d writes failed while the namespace was deleted, %s, more than %d; the last was %v", len(errors), when, most, errors[len(errors)-1])})
	}
}

// deletionWithCrashes kills the controller at every write of a deletion of each kind.
func deletionWithCrashes(a scene) {
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
		options: arena.OwnerOptions{
			Spec: arena.Paced,
			Pod:  func(template *corev1.PodTemplateSpec) { template.Spec.TerminationGracePeriodSeconds = ptr.To(int64(1)) },
		},
		do: func(a scene, name string) { a.removeWith(name, policy) },
	}
}

// orphaning deletes an owner without its pods.
func orphaning() operation {
	op := deletion("orphan", metav1.DeletePropagationOrphan)
	var before []corev1.Pod
	op.do = func(a scene, name string) {
		before = slices.DeleteFunc(a.Pods(), func(pod corev1.Pod) bool { return pod.Labels[a.Contender.SelectorLabel()] != name })
		a.removeWith(name, metav1.DeletePropagationOrphan)
	}
	op.after = func(a scene, name string) {
		if a.awaitGone(name) {
			a.checkOrphans(before)
		}
	}
	return op
}

// awaitGone waits until there is no owner of this name. If it stays for too long, Settle reports it.
func (a scene) awaitGone(name string) bool {
	ctx, cancel := context.WithTimeout(a.Ctx, arena.SettleLimit)
	defer cancel()
	for {
		owners, err := a.Contender.Owners(ctx, a.Namespace)
		if err == nil && !slices.ContainsFunc(owners, func(o arena.Owner) bool { return o.Name == name }) {
			return true
		}
		if !lab.Pause(ctx, 50*time.Millisecond) {
			return false
		}
	}
}

// checkOrphan checks whether a pod goes on as before without an owner, and makes it a decoy.
func (a scene) checkOrphan(before *corev1.Pod) {
	pods := a.Cluster.Kube.CoreV1().Pods(a.Namespace)
	wrong := func(invariant, format string, arguments ...any) {
		a.Violate(faults.Violation{Invariant: invariant, Object: before.Name, What: fmt.Sprintf("orphaned pod %s ", before.Name) + fmt.Sprintf(format, arguments...)})
	}
	pod, err := pods.Get(a.Ctx, before.Name, metav1.GetOptions{})
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
	if _, err := pods.Patch(a.Ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		wrong("I3", "cannot be marked: %v", err)
	}
}

// removeWith deletes an owner with a propagation policy, which decides about its pods.
func (a scene) removeWith(name string, policy metav1.DeletionPropagation) {
	a.Insist(func() error {
		return a.Contender.Delete(a.Ctx, a.Namespace, name, metav1.DeleteOptions{PropagationPolicy: &policy})
	})
	a.Unset(name)
	a.Logf("delete %s, %s", name, policy)
}

// orphanApart orphans the pods of an owner while the controller sees neither. Then the controller sees the owner again, but not the pods:
// the garbage collector has removed their owner references, and the controller's cache still has them. The pods must stay.
func orphanApart(a scene) {
	rounds := 3
	if a.Short {
		rounds = 1
	}
	a.Start()
	for i := range rounds {
		name := fmt.Sprintf("web-%d", i)
		a.Create(name, 4, arena.OwnerOptions{Spec: arena.Paced})
		a.awaitCalm()
		a.orphanUnseen(name, i%2 == 0)
	}
	a.Settle()
	a.Judge()
}

// orphanUnseen makes one such deletion. If the versions in between are lost, the controller sees only the last one.
func (a scene) orphanUnseen(name string, lost bool) {
	before := a.PodsOf(name)
	podWatch, ownerWatch := a.Own("watch", "pods"), a.Own("watch", a.Contender.Resource())
	pods, owners := a.Proxy.Stall(podWatch), a.Proxy.Stall(ownerWatch)
	a.removeWith(name, metav1.DeletePropagationOrphan)
	a.Await("the garbage collector to let the pods go", func() (string, bool) {
		all, err := a.Contender.Owners(a.Ctx, a.Namespace)
		a.Must(err)
		waits := slices.ContainsFunc(all, func(o arena.Owner) bool { return slices.Contains(o.Finalizers, metav1.FinalizerOrphanDependents) })
		return fmt.Sprintf("%v, %d pods with an owner", all, len(a.PodsOf(name))), !waits && len(a.PodsOf(name)) == 0
	})
	if lost {
		a.cutForGood(owners, ownerWatch)
	} else {
		owners.Resume()
	}
	a.Logf("the controller sees the owners again, and not the pods")
	// The controller may take its time to remove its finalizer, but must not delete a pod.
	if !a.awaitGone(name) {
		a.Violate(faults.Violation{Invariant: "I2", Object: name, What: name + " does not go although all its pods are released"})
	}
	lab.Pause(a.Ctx, time.Duration(a.Random.IntN(3000))*time.Millisecond)
	a.endStall(pods, podWatch)
	a.checkOrphans(before)
}

// checkOrphans checks pods that must stay.
func (a scene) checkOrphans(before []corev1.Pod) {
	for _, pod := range before {
		a.checkOrphan(&pod)
	}
}

// collectorAway deletes an owner and creates another of the same name while no garbage collector runs. This stands for a garbage collector
// that misses the deletion because its watch breaks between the two. The second owner must not wait for ever for the names of the first
// owner's pods and revisions, and nothing of the first owner may stay.
func collectorAway(a scene) {
	const collector = "kube-controller-manager"
	a.Start()
	a.Create("web", 4, arena.OwnerOptions{})
	a.awaitCalm()
	before := map[types.UID]bool{}
	for _, pod := range a.PodsOf("web") {
		before[pod.UID] = true
	}
	a.Must(a.Cluster.Signal(collector, syscall.SIGKILL))
	a.Logf("killed the garbage collector")
	a.replace("web", 3)
	a.expect("I2", "web", "the pods of the first owner to be gone", arena.SettleLimit, func() (string, bool) {
		left := slices.DeleteFunc(a.PodsOf("web"), func(pod corev1.Pod) bool { return !before[pod.UID] })
		return fmt.Sprintf("%d are left", len(left)), len(left) == 0
	})
	a.Must(a.Cluster.Repair(a.Ctx))
	a.Logf("the whole control plane runs again")
	a.Settle()
	a.Judge()
}
