package executor

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/controller/reconcile"
)

// maxAtOnce is how many requests a sync has on their way at the most. An overloaded API server does not get faster: its watches fall behind,
// ours and those of the scheduler and the kubelets, and it closes them. The flag -kube-api-qps bounds the requests of all syncs.
const maxAtOnce = 128

// PodResult is the result of one request: a pod or an error, but for a name that is taken.
type PodResult struct {
	Pod *corev1.Pod
	Err error
	// taken tells that a pod outside the cache has the name of the pod to create, foreign that users should know about that pod.
	taken, foreign bool
	// refused tells that an update in place was refused, and that an annotation of the pod says so.
	refused bool
}

// InParallel makes count calls, maxAtOnce at a time, and returns their results in order.
func InParallel(count int, call func(i int) PodResult) []PodResult {
	return slowStart(count, maxAtOnce, func(PodResult) bool { return false }, call)
}

// startSlowly makes up to count calls: one at first, and each that ends admits one more, up to maxAtOnce at a time. After the first failed call it
// starts no further call. It returns the results of the calls it made, in order.
func startSlowly(count int, call func(i int) PodResult) []PodResult {
	return slowStart(count, 1, func(r PodResult) bool { return r.Err != nil }, call)
}

func slowStart(count, admitted int, isLast func(PodResult) bool, call func(i int) PodResult) []PodResult {
	results := make([]PodResult, count)
	finished := make(chan int)
	begun, running, stops := 0, 0, false
	for {
		for ; !stops && begun < count && running < min(admitted, maxAtOnce); begun++ {
			running++
			go func(i int) {
				defer func() { finished <- i }()
				defer reconcile.RecoverTo(&results[i].Err)
				results[i] = call(i)
			}(begun)
		}
		if running == 0 {
			return results[:begun]
		}
		i := <-finished
		running--
		admitted++
		stops = stops || isLast(results[i])
	}
}
