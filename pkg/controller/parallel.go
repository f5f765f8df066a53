package controller

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// maxParallel is how many requests one sync has under way. A busy API server gives to each client by how much it asks for:
// with few at a time, the scheduler and the nodes, which act on the pods created first, would slow down the creation of the
// others. How many there are in a second is for -kube-api-qps to say.
const maxParallel = 256

// result is what came of one request. Neither pod nor error means that there was nothing left to do.
type result struct {
	pod *corev1.Pod
	err error
	// taken tells that the name for a new pod is in the hands of one that is not watched, foreign that people should know.
	taken, foreign bool
	// refused tells that a change in place was refused, and that the pod says so now.
	refused bool
}

// inParallel makes count calls, maxParallel at a time, and returns their results in order.
func inParallel(count int, call func(i int) result) []result {
	results := make([]result, count)
	slots := make(chan struct{}, maxParallel)
	var running sync.WaitGroup
	for i := range count {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			defer caught(&results[i].err)
			results[i] = call(i)
		})
	}
	running.Wait()
	return results
}

// whileItWorks makes up to count calls. It begins with a few at a time, and each one that goes through makes room for one
// more. After the first that does not, it begins no other. It returns the results of those that it made, in order.
func whileItWorks(count, few int, call func(i int) result) []result {
	results := make([]result, count)
	finished := make(chan int)
	begun, running, room, works := 0, 0, few, true
	for {
		for ; works && begun < count && running < min(room, maxParallel); begun++ {
			running++
			go func(i int) {
				defer func() { finished <- i }()
				defer caught(&results[i].err)
				results[i] = call(i)
			}(begun)
		}
		if running == 0 {
			return results[:begun]
		}
		i := <-finished
		running--
		room++
		works = works && results[i].err == nil
	}
}
