package executor

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// Lanes bound how many requests about pods are under way at the same time. An API server that is asked for more than it can do
// does not get faster: it stops serving watches in time instead, ours and those of the scheduler and the nodes, and closes them. How
// many requests there are in a second is for -kube-api-qps to say.
//
// Pods of one PodManager that has many come in a burst, which is over soon: it is worth a wide lane, since a busy API server
// gives to each client by how much it asks for. Very many PodManagers with few pods each keep it busy by themselves.
type Lanes struct{ wide, narrow chan struct{} }

const (
	wideLane, narrowLane = 128, 14
	// manyPods is how many a sync has to do something to, to go through the wide lane.
	manyPods = 4
)

func newLanes() Lanes {
	return Lanes{wide: make(chan struct{}, wideLane), narrow: make(chan struct{}, narrowLane)}
}

// Of is the lane for so many requests.
func (l Lanes) Of(count int) chan struct{} {
	if count < manyPods {
		return l.narrow
	}
	return l.wide
}

// Result is what came of one request. Neither pod nor error means that there was nothing left to do.
type Result struct {
	Pod *corev1.Pod
	Err error
	// taken tells that the name for a new pod is in the hands of one that is not watched, foreign that people should know.
	taken, foreign bool
	// refused tells that an update in place was refused, and that the pod says so now.
	refused bool
}

// InParallel makes count calls, as many at a time as the lane takes, and returns their results in order.
func InParallel(count int, lane chan struct{}, call func(i int) Result) []Result {
	results := make([]Result, count)
	var running sync.WaitGroup
	for i := range count {
		lane <- struct{}{}
		running.Go(func() {
			defer func() { <-lane }()
			defer Caught(&results[i].Err)
			results[i] = call(i)
		})
	}
	running.Wait()
	return results
}

// whileItWorks makes up to count calls. It begins with a few at a time, and each one that goes through makes room for one
// more, up to what the lane takes. After the first that does not, it begins no other. It returns the results of those that it made,
// in order.
func whileItWorks(count, few int, lane chan struct{}, call func(i int) Result) []Result {
	results := make([]Result, count)
	finished := make(chan int)
	begun, running, room, works := 0, 0, few, true
	for {
		for ; works && begun < count && running < min(room, cap(lane)); begun++ {
			running++
			go func(i int) {
				defer func() { finished <- i }()
				lane <- struct{}{}
				defer func() { <-lane }()
				defer Caught(&results[i].Err)
				results[i] = call(i)
			}(begun)
		}
		if running == 0 {
			return results[:begun]
		}
		i := <-finished
		running--
		room++
		works = works && results[i].Err == nil
	}
}
