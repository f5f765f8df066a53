package scenarios

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// halfSeen lets the controller create pods and see only the first of them, while names that were taken become free: if it creates a pod
// a second time, the pod gets another name. Before that, the watch of the owner stalls for longer than our controller waits, so that it
// reads live; the live read shows the same as the cache.
func halfSeen(a scene) {
	const few, many = 2, 8
	a.Start()
	a.Create("web", few, arena.OwnerOptions{})
	a.awaitCalm()
	taken := a.takeNames("web", few, many)
	watches := a.Own("watch", a.Contender.Resource())
	if !a.Contender.Updates() { // a ReplicaSet would not create pods
		watches = func(faults.Request) bool { return false }
	}
	owners := a.Proxy.Stall(watches)
	a.Logf("the watch of the owner stands still")
	a.losePod("web")
	slow := a.Proxy.Inject(faults.Rule{Name: "slow", Match: a.Own("create", "pods"), Rate: 1, Faults: []faults.Fault{{Delay: 2 * time.Second}}})
	a.Scale("web", many)
	a.awaitOwned("web", few+1)
	var deletions []func()
	for _, name := range taken {
		deletions = append(deletions, func() { a.DeletePod(name) })
	}
	a.InParallel(deletions...)
	lab.Pause(a.Ctx, 300*time.Millisecond) // the controller sees that the names are free
	pods := a.Proxy.Stall(a.Own("watch", "pods"))
	a.Logf("the watch of pods stands still, at %d pods", len(a.PodsOf("web")))
	a.awaitOwned("web", many)
	slow()
	owners.Resume()
	a.Logf("the watch of the owner goes on")
	lab.Pause(a.Ctx, time.Duration(2000+a.Random.IntN(2000))*time.Millisecond)
	a.endStall(pods, a.Own("watch", "pods"))
	a.Settle()
	a.Judge()
}

// losePod deletes a pod and waits until it is replaced. Our controller then has written the loss to the status, which it does not see: if
// the replacement came before the status was due, nothing was written, and another pod has to go.
func (a scene) losePod(owner string) {
	version := func() string {
		manager, err := a.Cluster.Managers.AppsV1().PodManagers(a.Namespace).Get(a.Ctx, owner, metav1.GetOptions{})
		if err != nil || !a.Contender.Updates() {
			return ""
		}
		return manager.ResourceVersion
	}
	before, count, lost := version(), len(a.PodsOf(owner)), time.Time{}
	a.Await("a lost pod to be replaced and told", func() (string, bool) {
		pods := a.PodsOf(owner)
		if !lost.IsZero() && len(pods) == count && (version() != before || !a.Contender.Updates()) {
			return "", true
		}
		if len(pods) == count && time.Since(lost) > 5*time.Second {
			a.DeletePod(pods[0].Name)
			lost = time.Now()
		}
		return fmt.Sprintf("%d pods", len(pods)), false
	})
}

// takeNames creates pods of another controller with the names of an owner's pods from one index up to another.
func (a scene) takeNames(owner string, from, to int) (names []string) {
	other := a.stranger()
	for i := from; i < to; i++ {
		pod := foreignPod(fmt.Sprintf("%s-%d", owner, i), map[string]string{a.Contender.SelectorLabel(): owner}, other)
		_, err := a.Cluster.Kube.CoreV1().Pods(a.Namespace).Create(a.Ctx, pod, metav1.CreateOptions{})
		a.Must(err)
		names = append(names, pod.Name)
	}
	return names
}

// awaitOwned waits until an owner has at least count pods.
func (a scene) awaitOwned(name string, count int) {
	a.Await(fmt.Sprintf("%d pods of %s", count, name), func() (string, bool) {
		n := len(a.PodsOf(name))
		return fmt.Sprint(n), n >= count
	})
}
