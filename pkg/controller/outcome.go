package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// outcome is what came of a plan.
type outcome struct {
	// manager is the PodManager as the last write left it.
	manager *v1.PodManager
	created []*corev1.Pod
	// deleted, adopted and released have the pods as the API server answered.
	deleted  []*corev1.Pod
	adopted  []*corev1.Pod
	released []*corev1.Pod
	// changed are the pods that a step of a change in place was made with.
	changed map[inplace.Step][]*corev1.Pod
	// collided is the name of a revision that stands for something else.
	collided string
	// outdated tells that the plan was given up, because things are not as the cache shows them.
	outdated bool
	// finalized tells that the PodManager was let go; there is no status to write any more.
	finalized bool
	// failure is what the status tells.
	failure *requeue.Failure
	// err, the first of a number of errors, makes the key come back. A refusal is not an error: it is held and told.
	err    error
	errors int
	// again is when to look again.
	again requeue.LookAgain
}

// lookAgain notes a time at which to look again.
func (o *outcome) lookAgain(again requeue.LookAgain) { o.again = o.again.Sooner(again) }

// fail notes a failed request. The first failure is the one to tell; a refusal is held and not an error.
func (o *outcome) fail(failure requeue.Failure, err error) {
	if o.failure == nil || (failure.Refused() && !o.failure.Refused()) {
		o.failure = &failure
	}
	if !failure.Refused() && err != nil {
		o.fails(err)
	}
}

// fails notes an error.
func (o *outcome) fails(err error) {
	if o.err == nil {
		o.err = err
	}
	o.errors++
}

// failed is the error of the whole sync: the first one, and how many more there were.
func (o *outcome) failed(reporting error) error {
	if reporting != nil {
		o.fails(reporting)
	}
	if o.errors > 1 {
		return fmt.Errorf("%w (and %d more)", o.err, o.errors-1)
	}
	return o.err
}

// hasActed tells whether something was done to pods.
func (o *outcome) hasActed() bool {
	return len(o.created)+len(o.deleted)+len(o.changed)+len(o.adopted)+len(o.released) > 0
}

// pods are the observed pods with what this sync has changed.
func (o *outcome) pods(observed []*corev1.Pod) []*corev1.Pod {
	changed := map[types.UID]*corev1.Pod{}
	for _, pod := range o.deleted {
		changed[pod.UID] = pod
	}
	for _, pod := range o.released {
		changed[pod.UID] = nil
	}
	for _, pods := range o.changed {
		for _, pod := range pods {
			changed[pod.UID] = pod
		}
	}
	after := make([]*corev1.Pod, 0, len(observed)+len(o.created))
	for _, pod := range observed {
		if now, found := changed[pod.UID]; !found {
			after = append(after, pod)
		} else if now != nil {
			after = append(after, now)
		}
	}
	after = append(after, o.adopted...)
	return append(after, o.created...)
}

// isGone tells whether a request failed because the pod that it was about is no longer there.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}
