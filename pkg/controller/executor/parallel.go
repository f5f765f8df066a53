package executor

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// Lanes bound the number of concurrent pod requests of all syncs. An overloaded API server does not get faster: its watches fall behind,
// ours and those of the scheduler and the kubelets, and it closes them. The flag -kube-api-qps bounds the requests per second.
//
// A sync with many requests is a short burst and uses the wide lane: a busy API server serves a client by how much it asks for. Syncs
// with few requests use the narrow lane: very many PodManagers with few pods each keep the API server busy anyway.
type Lanes struct{ wide, narrow chan struct{} }

const (
	wideLane, narrowLane = 128, 14
	// wideLaneFrom is how many requests of a kind a sync must have to use the wide lane.
	wideLaneFrom = 4
)

// NewLanes makes the lanes of a process.
func NewLanes() Lanes {
	return Lanes{wide: make(chan struct{}, wideLane), narrow: make(chan struct{}, narrowLane)}
}

// Of is the lane for a number of requests.
func (l Lanes) Of(count int) chan struct{} {
	if count < wideLaneFrom {
		return l.narrow
	}
	return l.wide
}

// PodResult is the result of one request. It has neither a pod nor an error if the pod was gone or had changed.
type PodResult struct {
	Pod *corev1.Pod
	Err error
	// taken tells that a pod outside the cache has the name of the pod to create, foreign that users should know about that pod.
	taken, foreign bool
	// refused tells that an update in place was refused, and that an annotation of the pod says so.
	refused bool
}

// InParallel makes count calls, as many at a time as the lane admits, and returns their results in order.
func InParallel(count int, lane chan struct{}, call func(i int) PodResult) []PodResult {
	results := make([]PodResult, count)
	var running sync.WaitGroup
	for i := range count {
		lane <- struct{}{}
		running.Go(func() {
			defer func() { <-lane }()
			defer RecoverTo(&results[i].Err)
			results[i] = call(i)
		})
	}
	running.Wait()
	return results
}

// slowStart makes up to count calls. It starts with the given number at a time, and each call that ends admits one more, up to the
// capacity of the lane. After the first failed call it starts no further call. It returns the results of the calls it made, in order.
func slowStart(count, initial int, lane chan struct{}, call func(i int) PodResult) []PodResult {
	results := make([]PodResult, count)
	finished := make(chan int)
	begun, running, admitted, failed := 0, 0, initial, false
	for {
		for ; !failed && begun < count && running < min(admitted, cap(lane)); begun++ {
			running++
			go func(i int) {
				defer func() { finished <- i }()
				lane <- struct{}{}
				defer func() { <-lane }()
				defer RecoverTo(&results[i].Err)
				results[i] = call(i)
			}(begun)
		}
		if running == 0 {
			return results[:begun]
		}
		i := <-finished
		running--
		admitted++
		failed = failed || results[i].Err != nil
	}
}
