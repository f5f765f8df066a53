package executor

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Outcome is what came of a plan.
type Outcome struct {
	// manager is the PodManager as the last write left it.
	Manager *v1.PodManager
	Created []*corev1.Pod
	// deleted, adopted and released have the pods as the API server answered.
	Deleted  []*corev1.Pod
	Adopted  []*corev1.Pod
	Released []*corev1.Pod
	// changed are the pods that a step of an update in place was made with.
	Updated map[inplace.Step][]*corev1.Pod
	// collided is the name of a revision that stands for something else.
	Collided string
	// outdated tells that the plan was given up, because things are not as the cache shows them.
	Outdated bool
	// finalized tells that the PodManager was let go; there is no status to write any more.
	Finalized bool
	// failure is what the status tells.
	Failure *requeue.Failure
	// err, the first of a number of errors, makes the key come back. A refusal is not an error: it is held and told.
	err    error
	errors int
	// again is when to look again.
	Again requeue.LookAgain
}

// LookAgain notes a time at which to look again.
func (o *Outcome) LookAgain(again requeue.LookAgain) { o.Again = o.Again.Sooner(again) }

// fail notes a failed request. The first failure is the one to tell; a refusal is held and not an error.
func (o *Outcome) fail(failure requeue.Failure, err error) {
	if o.Failure == nil || (failure.Refused() && !o.Failure.Refused()) {
		o.Failure = &failure
	}
	if !failure.Refused() && err != nil {
		o.fails(err)
	}
}

// fails notes an error.
func (o *Outcome) fails(err error) {
	if o.err == nil {
		o.err = err
	}
	o.errors++
}

// Failed is the error of the whole sync: the first one, and how many more there were.
func (o *Outcome) Failed(reporting error) error {
	if reporting != nil {
		o.fails(reporting)
	}
	if o.errors > 1 {
		return fmt.Errorf("%w (and %d more)", o.err, o.errors-1)
	}
	return o.err
}

// HasActed tells whether something was done to pods.
func (o *Outcome) HasActed() bool {
	return len(o.Created)+len(o.Deleted)+len(o.Updated)+len(o.Adopted)+len(o.Released) > 0
}

// Pods are the observed pods with what this sync has changed.
func (o *Outcome) Pods(observed []*corev1.Pod) []*corev1.Pod {
	changed := map[types.UID]*corev1.Pod{}
	for _, pod := range o.Deleted {
		changed[pod.UID] = pod
	}
	for _, pod := range o.Released {
		changed[pod.UID] = nil
	}
	for _, pods := range o.Updated {
		for _, pod := range pods {
			changed[pod.UID] = pod
		}
	}
	after := make([]*corev1.Pod, 0, len(observed)+len(o.Created))
	for _, pod := range observed {
		if now, found := changed[pod.UID]; !found {
			after = append(after, pod)
		} else if now != nil {
			after = append(after, now)
		}
	}
	after = append(after, o.Adopted...)
	return append(after, o.Created...)
}

// isGone tells whether a request failed because the pod that it was about is no longer there.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}
