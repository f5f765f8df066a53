package reconcile

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Outcome is the outcome of a plan.
type Outcome struct {
	// Manager is the PodManager as of the last write.
	Manager *v1.PodManager
	// Created, Deleted, Adopted and Released have the pods as the API server returned them.
	Created  []*corev1.Pod
	Deleted  []*corev1.Pod
	Adopted  []*corev1.Pod
	Released []*corev1.Pod
	// Updated has the pods by the step of their in-place update.
	Updated map[inplace.Step][]*corev1.Pod
	// Collided is the name of a revision whose hash collides with the hash of another template.
	Collided string
	// LookedAt is when the PodManager was last read live.
	LookedAt time.Time
	// Outdated means that the plan was abandoned, because the cluster is not in the state that the plan assumes.
	Outdated bool
	// Finalized means that the finalizer was removed from a PodManager that is being deleted, so there is no status to write any more.
	Finalized bool
	// Failure is the failure to report in the status. FailedNow means that a request of this sync has failed in this way. Otherwise the
	// failure is from an earlier sync, and its backoff is not over.
	Failure   *requeue.Failure
	FailedNow bool
	// Err is the first error, which requeues the key with backoff. errors counts all of them. A refusal is not an error: only requests of its kind
	// get a backoff.
	Err    error
	errors int
	// Again is when to requeue the key.
	Again requeue.Requeue
}

// Requeue requeues the key at a time, unless it is requeued sooner.
func (o *Outcome) Requeue(again requeue.Requeue) { o.Again = o.Again.Sooner(again) }

// AddFailure adds a failed request. The status reports the first refusal or, if there is none, the first failure. A refusal is not an error.
func (o *Outcome) AddFailure(failure requeue.Failure, err error) {
	if o.Failure == nil || (failure.Refused() && !o.Failure.Refused()) {
		o.Failure, o.FailedNow = &failure, true
	}
	if !failure.Refused() && err != nil {
		o.AddError(err)
	}
}

// AddError adds an error of the sync.
func (o *Outcome) AddError(err error) {
	if o.Err == nil {
		o.Err = err
	}
	o.errors++
}

// Failed returns the error of the whole sync: the first error, and the number of further errors.
func (o *Outcome) Failed(reporting error) error {
	if reporting != nil {
		o.AddError(reporting)
	}
	if o.errors > 1 {
		return fmt.Errorf("%w (and %d more)", o.Err, o.errors-1)
	}
	return o.Err
}

// HasActed reports whether the sync has changed pods.
func (o *Outcome) HasActed() bool {
	return len(o.Created)+len(o.Deleted)+len(o.Updated)+len(o.Adopted)+len(o.Released) > 0
}

// Pods returns the pods after this sync: the observed pods with the changes that the sync has made.
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
