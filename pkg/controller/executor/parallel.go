package executor

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/controller/reconcile"
)

// maxAtOnce is how many requests of a sync may be in flight. More requests do not make an overloaded API server faster: its watches fall
// behind, including those of the scheduler and the kubelets, and it closes them. The flag -kube-api-qps limits the requests of all syncs
// together.
const maxAtOnce = 128

// PodResult is the result of one request: a pod or an error. If the name is taken, it has neither.
type PodResult struct {
	Pod *corev1.Pod
	Err error
	// taken means that a pod outside the cache has the name of the pod to create.
	taken bool
	// refused means that the API server refused an in-place update, and that an annotation of the pod records the refusal.
	refused bool
}

// InParallel makes count calls, maxAtOnce at a time, and returns their results in order.
func InParallel(count int, call func(i int) PodResult) []PodResult {
	return slowStart(count, maxAtOnce, func(PodResult) bool { return false }, call)
}

// slowStartBatch makes up to count calls. It starts with one, and each call that ends admits one more, up to maxAtOnce at a time. After a call
// has failed, it starts no further calls. It returns the results of the calls that it made, in order.
func slowStartBatch(count int, call func(i int) PodResult) []PodResult {
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
