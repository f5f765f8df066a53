package main

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

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
