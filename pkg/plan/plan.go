package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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
	// PodNamed is the pod in the namespace that has this name, whoever it belongs to; nil if there is none.
	PodNamed func(name string) *corev1.Pod
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
	Create       []Creation
	// Finalize lets the deleted PodManager go, once a live look has shown that none of its pods is left.
	Finalize bool
	// Held is the failure because of which wanted pods are not created this time.
	Held *Failure
	// Waiting is the failed pod that is next to be replaced, if its time has not come.
	Waiting *Retry
	// Foreign are the names that pods of somebody else keep from us.
	Foreign []string
	// More tells that there is more to do than one sync may.
	More bool
	// Again is when to look again even if nothing happens; zero for never.
	Again time.Duration
}

// Creation is a pod to create.
type Creation struct {
	Index int
	// FailuresBefore is how many pods have failed one after the other before this one takes their place.
	FailuresBefore int
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
	WhyMarked   Why = "it was marked for deletion"
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
		Foreign:      foreignNames(o),
	}
	active, ended := split(kept)
	going := len(kept) - len(active) - len(ended)
	active = append(active, plan.Adopt...)
	going += plan.takeAway(o.Manager, active, going)
	missing := o.Manager.DesiredReplicas() - (len(active) - len(plan.Delete))
	if o.Manager.Spec.PodReplacementPolicy == v1.TerminationComplete {
		missing -= going
	}
	unfilled := plan.fill(o, missing, retriesOf(o, active, ended))
	for _, pod := range beyondHistory(o, ended, unfilled) {
		plan.Delete = append(plan.Delete, Deletion{Pod: pod, Why: WhyEnded})
	}
	plan.bound()
	return plan
}

// bound keeps a plan to what one sync may do.
func (p *Plan) bound() {
	p.More = len(p.Delete) > MaxPerSync || len(p.Create) > MaxPerSync
	p.Delete = p.Delete[:min(len(p.Delete), MaxPerSync)]
	p.Create = p.Create[:min(len(p.Create), MaxPerSync)]
}

// takeAway plans to delete the pods that are too many, and those that are marked for it, as far as scaleDown lets so
// many be going at once. It returns how many that are.
func (p *Plan) takeAway(manager *v1.PodManager, active []*corev1.Pod, going int) int {
	surplus := max(0, len(active)-manager.DesiredReplicas())
	marked := 0
	for _, pod := range active {
		if isMarked(pod) {
			marked++
		}
	}
	count := min(max(surplus, marked), allowance(manager, len(active), going))
	if count == 0 {
		return 0
	}
	for i, pod := range rank(active)[:count] {
		why := WhySurplus
		if i >= surplus {
			why = WhyMarked
		}
		p.Delete = append(p.Delete, Deletion{Pod: pod, Why: why})
	}
	return count
}

// allowance is how many more pods may be sent away while some are still going.
func allowance(manager *v1.PodManager, active, going int) int {
	limit := active + going
	if scaleDown := manager.Spec.ScaleDown; scaleDown != nil && scaleDown.MaxUnavailable != nil {
		// The CRD lets only valid values in; anything else would be from before it did, and means no limit.
		if scaled, err := intstr.GetScaledValueFromIntOrPercent(scaleDown.MaxUnavailable, active+going, true); err == nil {
			limit = max(1, scaled)
		}
	}
	return max(0, limit-going)
}

// fill plans to create the missing pods, but for the places of failed pods whose time has not come. It returns the failed
// pods whose places are not filled yet; that a place is to be filled now does not mean that it will be.
func (p *Plan) fill(o Observed, missing int, retries retries) []Retry {
	if missing <= 0 {
		return nil
	}
	waiting := retries.waiting[:min(missing, len(retries.waiting))]
	if len(waiting) > 0 {
		p.Waiting = &waiting[0]
		p.Again = waiting[0].Due.Sub(o.Now)
	}
	missing -= len(waiting)
	unfilled := slices.Concat(waiting, retries.due[:min(missing, len(retries.due))])
	if missing > 0 && o.Hold != nil && o.Now.Before(o.Hold.Until) {
		p.Held = &o.Hold.Failure
		p.Again = soonest(p.Again, o.Hold.Until.Sub(o.Now))
		return unfilled
	}
	for i, index := range freeIndices(o, missing) {
		creation := Creation{Index: index}
		if i < len(retries.due) {
			creation.FailuresBefore = retries.due[i].Failures
		}
		p.Create = append(p.Create, creation)
	}
	return unfilled
}

// soonest is the shorter of two waits, of which zero means none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// makeFinal decides about a PodManager that is being deleted. With the orphan finalizer the user has asked for the
// pods to stay.
func makeFinal(o Observed) Plan {
	if !slices.Contains(o.Manager.Finalizers, v1.Finalizer) {
		return Plan{}
	}
	plan := Plan{Finalize: len(o.Pods) == 0}
	if slices.Contains(o.Manager.Finalizers, metav1.FinalizerOrphanDependents) {
		plan.Release = o.Pods
		return plan
	}
	active, ended := split(o.Pods)
	allowed := allowance(o.Manager, len(active), len(o.Pods)-len(active)-len(ended))
	for _, pod := range slices.Concat(rank(active)[:min(allowed, len(active))], ended) {
		plan.Delete = append(plan.Delete, Deletion{Pod: pod, Why: WhyFinalize})
	}
	plan.bound()
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
