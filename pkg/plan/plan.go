package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// MaxPerSync is how many pods one sync creates or deletes at the most, so that a huge PodManager reports, and sees a
// changed spec, while it is still growing.
const MaxPerSync = 500

// Observed is all that a decision may rest on.
type Observed struct {
	Manager *v1.PodManager
	// Pods are the pods whose controller is Manager, told by UID.
	Pods []*corev1.Pod
	// Orphans are pods that carry Manager's label and have no controller.
	Orphans []*corev1.Pod
	// NameTaken tells whether any pod in the namespace has this name.
	NameTaken func(name string) bool
	// Hold is set while creating pods was refused and is not to be tried again yet.
	Hold *Hold
	Now  time.Time
}

// Hold keeps a refused create from being repeated with every event.
type Hold struct {
	Until   time.Time
	Failure Failure
}

// Plan is what is to be done. Its parts are independent of one another, but for Finalize, which goes last.
type Plan struct {
	// AddFinalizer comes before anything is created, or a deletion could pass by unseen.
	AddFinalizer bool
	Adopt        []*corev1.Pod
	Release      []*corev1.Pod
	Delete       []Deletion
	// Create has the index of each pod to create.
	Create []int
	// Finalize lets the deleted PodManager go, once a live look has shown that none of its pods is left.
	Finalize bool
	// Held is the failure because of which wanted pods are not created this time.
	Held *Failure
	// Again is when to look again even if nothing happens; zero for never.
	Again time.Duration
}

// Deletion is a pod to delete, and why.
type Deletion struct {
	Pod *corev1.Pod
	Why Why
}

// Why is the reason for deleting a pod, as users read it in the event.
type Why string

// The reasons for deleting a pod.
const (
	WhySurplus  Why = "scaled down"
	WhyEnded    Why = "it had ended"
	WhyFinalize Why = "the PodManager is being deleted"
)

// Empty tells whether there is nothing to do.
func (p Plan) Empty() bool {
	return !p.AddFinalizer && !p.Finalize && len(p.Adopt)+len(p.Release)+len(p.Delete)+len(p.Create) == 0
}

// Make decides what is to be done about one PodManager.
func Make(o Observed) Plan {
	if o.Manager.DeletionTimestamp != nil {
		return makeFinal(o)
	}
	kept, released := keepOrRelease(o.Manager, o.Pods)
	plan := Plan{
		AddFinalizer: !slices.Contains(o.Manager.Finalizers, v1.Finalizer),
		Adopt:        adoptable(o.Orphans),
		Release:      released,
	}
	active, ended := split(kept)
	for _, pod := range ended {
		plan.Delete = append(plan.Delete, Deletion{Pod: pod, Why: WhyEnded})
	}
	active = append(active, plan.Adopt...)
	plan.scale(o, active)
	if len(plan.Delete) > MaxPerSync {
		plan.Delete = plan.Delete[:MaxPerSync]
	}
	return plan
}

// scale adds the creates, or the deletes, that lead from the active pods to the wanted number.
func (p *Plan) scale(o Observed, active []*corev1.Pod) {
	missing := o.Manager.DesiredReplicas() - len(active)
	switch {
	case missing < 0:
		for _, pod := range rank(active)[:-missing] {
			p.Delete = append(p.Delete, Deletion{Pod: pod, Why: WhySurplus})
		}
	case missing > 0 && o.Hold != nil && o.Now.Before(o.Hold.Until):
		p.Held = &o.Hold.Failure
		p.Again = o.Hold.Until.Sub(o.Now)
	case missing > 0:
		p.Create = freeIndices(o, min(missing, MaxPerSync))
	}
}

// makeFinal decides about a PodManager that is being deleted. With the orphan finalizer the user has asked for the
// pods to stay.
func makeFinal(o Observed) Plan {
	if !slices.Contains(o.Manager.Finalizers, v1.Finalizer) {
		return Plan{}
	}
	if slices.Contains(o.Manager.Finalizers, metav1.FinalizerOrphanDependents) {
		return Plan{Release: o.Pods, Finalize: len(o.Pods) == 0}
	}
	plan := Plan{Finalize: len(o.Pods) == 0}
	for _, pod := range o.Pods {
		if pod.DeletionTimestamp == nil && len(plan.Delete) < MaxPerSync {
			plan.Delete = append(plan.Delete, Deletion{Pod: pod, Why: WhyFinalize})
		}
	}
	return plan
}

// split tells the active pods from those that have ended and still stand; those on their way out are neither.
func split(pods []*corev1.Pod) (active, ended []*corev1.Pod) {
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
		case hasEnded(pod):
			ended = append(ended, pod)
		default:
			active = append(active, pod)
		}
	}
	return active, ended
}
