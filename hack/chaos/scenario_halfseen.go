package main

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/faults"
	"github.com/mycompany/podmanager/hack/lab"
)

// halfSeen has the controller make pods of which it then sees only the first, while the names that were taken before have
// become free: a pod that is made a second time gets another name. Ours makes them right after it had to read from the API
// server itself, since the watch of the owner stands still for longer than it waits; what it reads is what the cache shows.
func halfSeen(a *arena) {
	const few, many = 2, 8
	a.start()
	a.create("web", few, ownerOptions{})
	a.awaitCalm()
	taken := a.takeNames("web", few, many)
	watches := a.own("watch", a.contender.resource())
	if !a.contender.updates() { // ReplicaSets would not grow
		watches = func(faults.Request) bool { return false }
	}
	owners := a.proxy.Stall(watches)
	a.logf("the watch of the owner stands still")
	a.deletePod(a.podsOf("web")[0].Name) // what comes of it is written to the status, which then is not seen
	a.await("the pod to be replaced", time.Minute, func() (string, bool) {
		n := len(a.podsOf("web"))
		return fmt.Sprint(n), n == few
	})
	slow := a.proxy.Inject(faults.Rule{Name: "slow", Match: a.own("create", "pods"), Rate: 1, Faults: []faults.Fault{{Delay: 2 * time.Second}}})
	a.scale("web", many)
	a.awaitOwned("web", few+1)
	var deletions []func()
	for _, name := range taken {
		deletions = append(deletions, func() { a.deletePod(name) })
	}
	a.inParallel(deletions...)
	lab.Pause(a.ctx, 300*time.Millisecond) // that the names are free is seen
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

// takeNames makes pods of somebody else that have the names of an owner's pods from one index up to another.
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

// awaitOwned waits until an owner has at least so many pods.
func (a *arena) awaitOwned(name string, count int) {
	a.await(fmt.Sprintf("%d pods of %s", count, name), time.Minute, func() (string, bool) {
		n := len(a.podsOf(name))
		return fmt.Sprint(n), n >= count
	})
}
