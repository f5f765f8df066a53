package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// anyOf matches the watches of several resources.
func (a scene) anyOf(resources ...string) func(faults.Request) bool {
	return func(r faults.Request) bool {
		for _, resource := range resources {
			if a.Own("watch", resource)(r) {
				return true
			}
		}
		return false
	}
}

// endStall ends a stall in one of three ways: the watch goes on; the watch is cut, and the controller opens it again at its last version;
// or the controller cannot open it there, and lists the present objects.
func (a scene) endStall(stall *faults.Stall, match func(faults.Request) bool) {
	switch a.Random.IntN(3) {
	case 0:
		stall.Resume()
		a.Logf("the watches go on")
	case 1:
		stall.Cut()
		a.Logf("the watches are cut")
	default:
		a.cutForGood(stall, match)
	}
}

// cutForGood ends a stall so that the controller never sees the events that were held back.
func (a scene) cutForGood(stall *faults.Stall, match func(faults.Request) bool) {
	a.expireNext(match)
	stall.Cut()
	a.Logf("the watches are cut, and their events are lost")
}

// expireNext answers 410 to the next watch of each resource that matches: the controller has to list.
func (a scene) expireNext(match func(faults.Request) bool) {
	told := map[string]bool{}
	a.Proxy.Inject(faults.Rule{Name: "expired", Rate: 1, Faults: []faults.Fault{{Status: 410}}, Match: func(r faults.Request) bool { // called under a lock
		if !match(r) || told[r.Resource] {
			return false
		}
		told[r.Resource] = true
		return true
	}})
}

// staleCache stalls the watch of pods during churn, for longer than any timeout of the controller. The longest is the minute of
// consistency.echoLifetime.
func staleCache(a scene) {
	length := 70 * time.Second
	if a.Short {
		length = 12 * time.Second
	}
	a.Start()
	for i := range 3 {
		a.Create(fmt.Sprintf("web-%d", i), 5, arena.OwnerOptions{})
	}
	a.awaitCalm()
	pods := a.Own("watch", "pods")
	stall := a.Proxy.Stall(pods)
	ctx, cancel := context.WithTimeout(a.Ctx, length)
	defer cancel()
	a.Churn(ctx)
	a.endStall(stall, pods)
	a.Settle()
	a.Judge()
}

// unobservedChange changes objects and changes them back while the controller sees nothing.
func unobservedChange(a scene) {
	rounds := 6
	if a.Short {
		rounds = 2
	}
	a.Start()
	a.Create("web", 4, arena.OwnerOptions{})
	a.awaitCalm()
	for range rounds {
		resources := [][]string{{a.Contender.Resource()}, {"pods"}, {a.Contender.Resource(), "pods"}}[a.Random.IntN(3)]
		watches := a.anyOf(resources...)
		stall := a.Proxy.Stall(watches)
		a.Logf("the watches of %s stand still", strings.Join(resources, " and "))
		a.thereAndBack("web", slices.Contains(resources, "pods"))
		a.cutForGood(stall, watches)
		a.awaitCalm()
	}
	a.Settle()
	a.Judge()
}

// thereAndBack changes the replicas, the image and a pod's label, and changes them back. It changes the label only if the controller does
// not see it: otherwise the controller would replace the pod, which would rightly be one too many when it comes back.
func (a scene) thereAndBack(name string, podsUnseen bool) {
	pause := func() { lab.Pause(a.Ctx, time.Duration(a.Random.IntN(1500))*time.Millisecond) }
	before := a.Wants()[name]
	deeds := []func(){
		func() { a.Scale(name, a.Random.IntN(9)); pause(); a.Scale(name, before.Replicas) },
		func() { a.Update(name, "nginx:1.28"); pause(); a.Update(name, before.Image) },
	}
	if podsUnseen {
		deeds = append(deeds, func() { a.relabelThereAndBack(pause) })
	}
	a.Random.Shuffle(len(deeds), func(i, j int) { deeds[i], deeds[j] = deeds[j], deeds[i] })
	for _, deed := range deeds[:1+a.Random.IntN(len(deeds))] {
		deed()
	}
}

// relabelThereAndBack changes a pod's label so that the pod leaves its owner, and changes it back.
func (a scene) relabelThereAndBack(pause func()) {
	pods := a.Pods()
	if len(pods) == 0 {
		return
	}
	pod := pods[a.Random.IntN(len(pods))]
	for _, value := range []string{"nobody", pod.Labels[a.Contender.SelectorLabel()]} {
		patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:%q}}}`, pod.UID, a.Contender.SelectorLabel(), value)
		a.Insist(func() error {
			_, err := a.Cluster.Kube.CoreV1().Pods(a.Namespace).Patch(a.Ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return arena.IgnoreConflict(err)
		})
		a.Logf("relabel pod %s: %s", pod.Name, value)
		pause()
	}
}

// seenAgain is how soon a deleted pod must be replaced once the watch is back.
const seenAgain = 5 * time.Second

// missedDelete deletes pods while there is no watch, in three ways. The controller replaces them as soon as the watch is back.
func missedDelete(a scene) {
	a.Start()
	a.Create("web", 5, arena.OwnerOptions{})
	a.awaitCalm()
	pods := a.Own("watch", "pods")

	for _, lost := range []bool{false, true} {
		stall := a.Proxy.Stall(pods)
		a.deleteSome(2)
		back := a.next(pods)
		if lost {
			a.cutForGood(stall, pods)
		} else {
			stall.Cut()
		}
		a.awaitReplaced("web", back)
	}

	refused := a.Proxy.Inject(faults.Rule{Name: "refused", Match: pods, Rate: 1, Faults: []faults.Fault{{Status: 503}}})
	if a.Proxy.CutWatches(pods) == 0 {
		a.Must(errors.New("there is no watch to cut"))
	}
	a.deleteSome(2)
	refused()
	a.awaitReplaced("web", a.next(pods))
	a.Settle()
	a.Judge()
}

// deleteSome deletes pods, and checks that the controller does not see it.
func (a scene) deleteSome(count int) {
	pods := a.Pods()
	a.Random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	for _, pod := range pods[:count] {
		a.DeletePod(pod.Name)
	}
	if n := len(a.Pods()); n != len(pods)-count {
		a.Must(fmt.Errorf("%d pods although %d of %d were deleted: the controller is not blind", n, count, len(pods)))
	}
}

// next tells when the next matching request comes.
func (a scene) next(match func(faults.Request) bool) <-chan time.Time {
	at := make(chan time.Time, 1)
	a.Proxy.Inject(faults.Rule{Name: "next", Match: func(r faults.Request) bool {
		if match(r) {
			select {
			case at <- time.Now():
			default:
			}
		}
		return false
	}})
	return at
}

// awaitReplaced waits until there are as many pods as wanted, and measures the time since the watch is back: client-go decides when it
// opens the watch again, after 30 to 60 s at the most.
func (a scene) awaitReplaced(name string, back <-chan time.Time) {
	slow := func(format string, arguments ...any) {
		a.Violate(faults.Violation{Invariant: "I3", Object: name, What: fmt.Sprintf(format, arguments...)})
	}
	var since time.Time
	select {
	case since = <-back:
	case <-time.After(time.Minute + seenAgain):
		slow("the watch of pods was cut or refused, and is not tried again")
		return
	}
	for len(a.Pods()) != a.Wants()[name].Replicas && time.Since(since) < 6*seenAgain {
		lab.Pause(a.Ctx, 20*time.Millisecond)
	}
	took := time.Since(since).Round(time.Millisecond)
	a.Logf("replaced after %v", took)
	if took > seenAgain {
		slow("it took %v to replace pods once the controller could see that they are gone; %v are allowed", took, seenAgain)
	}
	a.awaitCalm()
}
