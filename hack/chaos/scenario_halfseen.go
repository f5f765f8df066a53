package main

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// halfSeen lets the controller create pods and see only the first of them, while names that were taken become free: if it creates a pod
// a second time, the pod gets another name. Before that, the watch of the owner stalls for longer than our controller waits, so that it
// reads live; the live read shows the same as the cache.
func halfSeen(a *arena) {
	const few, many = 2, 8
	a.start()
	a.create("web", few, ownerOptions{})
	a.awaitCalm()
	taken := a.takeNames("web", few, many)
	watches := a.own("watch", a.contender.resource())
	if !a.contender.updates() { // a ReplicaSet would not create pods
		watches = func(faults.Request) bool { return false }
	}
	owners := a.proxy.Stall(watches)
	a.logf("the watch of the owner stands still")
	a.losePod("web")
	slow := a.proxy.Inject(faults.Rule{Name: "slow", Match: a.own("create", "pods"), Rate: 1, Faults: []faults.Fault{{Delay: 2 * time.Second}}})
	a.scale("web", many)
	a.awaitOwned("web", few+1)
	var deletions []func()
	for _, name := range taken {
		deletions = append(deletions, func() { a.deletePod(name) })
	}
	a.inParallel(deletions...)
	lab.Pause(a.ctx, 300*time.Millisecond) // the controller sees that the names are free
	pods := a.proxy.Stall(a.own("watch", "pods"))
	a.logf("the watch of pods stands still, at %d pods", len(a.podsOf("web")))
	a.awaitOwned("web", many)
	slow()
	owners.Resume()
	a.logf("the watch of the owner goes on")
	lab.Pause(a.ctx, time.Duration(2000+a.random.IntN(2000))*time.Millisecond)
	a.endStall(pods, a.own("watch", "pods"))
	a.settle()
	a.judge()
}

// losePod deletes a pod and waits until it is replaced. Our controller then has written the loss to the status, which it does not see: if
// the replacement came before the status was due, nothing was written, and another pod has to go.
func (a *arena) losePod(owner string) {
	version := func() string {
		manager, err := a.cluster.Managers.AppsV1().PodManagers(a.namespace).Get(a.ctx, owner, metav1.GetOptions{})
		if err != nil || !a.contender.updates() {
			return ""
		}
		return manager.ResourceVersion
	}
	before, count, lost := version(), len(a.podsOf(owner)), time.Time{}
	a.await("a lost pod to be replaced and told", func() (string, bool) {
		pods := a.podsOf(owner)
		if !lost.IsZero() && len(pods) == count && (version() != before || !a.contender.updates()) {
			return "", true
		}
		if len(pods) == count && time.Since(lost) > 5*time.Second {
			a.deletePod(pods[0].Name)
			lost = time.Now()
		}
		return fmt.Sprintf("%d pods", len(pods)), false
	})
}

// takeNames creates pods of another controller with the names of an owner's pods from one index up to another.
func (a *arena) takeNames(owner string, from, to int) (names []string) {
	other := a.stranger()
	for i := from; i < to; i++ {
		pod := foreignPod(fmt.Sprintf("%s-%d", owner, i), map[string]string{a.contender.selectorLabel(): owner}, other)
		_, err := a.cluster.Kube.CoreV1().Pods(a.namespace).Create(a.ctx, pod, metav1.CreateOptions{})
		a.must(err)
		names = append(names, pod.Name)
	}
	return names
}

// awaitOwned waits until an owner has at least count pods.
func (a *arena) awaitOwned(name string, count int) {
	a.await(fmt.Sprintf("%d pods of %s", count, name), func() (string, bool) {
		n := len(a.podsOf(name))
		return fmt.Sprint(n), n >= count
	})
}
