package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// needsFinalizer reports whether the controller has work to do before the PodManager is gone: to limit the pace at which pods terminate, or to open
// closed readiness gates, which no other client opens. Without the finalizer, the garbage collector does all the work, and the deletion completes
// even if no controller is running.
func needsFinalizer(manager *v1.PodManager) bool {
	return manager.PacesScaleDown() || manager.InPlaceGrace() > 0
}

func hasFinalizer(manager *v1.PodManager, name string) bool {
	return slices.Contains(manager.Finalizers, name)
}

// makeFinal plans for a PodManager that is being deleted. Without our finalizer, the garbage collector does all the work. The observed PodManager
// has to be read live: a cached one may not show yet that the user wants to orphan the pods.
func makeFinal(o Observed) Plan {
	var plan Plan
	active, finished, terminating := podstate.Split(o.Pods)
	// If the user orphans the pods, the garbage collector removes their owner references, and then its own finalizer from the PodManager. It may have
	// removed them already.
	isOrphaned, opens := hasFinalizer(o.Manager, metav1.FinalizerOrphanDependents), o.Orphans
	if !isOrphaned {
		plan.force(o, terminating) // a foreground deletion waits for these pods, too
	}
	if !hasFinalizer(o.Manager, v1.Finalizer) {
		return plan
	}
	if isOrphaned {
		opens = slices.Concat(active, o.Orphans)
	}
	for _, pod := range opens {
		if isOurs := pod.Labels[v1.LabelManagerUID] == string(o.Manager.UID); isOurs && podstate.IsDrained(pod) {
			plan.Update = append(plan.Update, inplace.Update{Pod: pod, Step: inplace.StepOpen})
		}
	}
	switch {
	case len(plan.Update) > 0: // gates come first: no other client opens them once the PodManager is gone
	case isOrphaned, !o.Manager.PacesScaleDown():
		plan.RemoveFinalizer = true
	default:
		plan.RemoveFinalizer = len(o.Pods) == 0
		allowed := rollout.MayTerminate(o.Manager, len(active), len(terminating))
		for _, pod := range slices.Concat(podstate.RankForDeletion(active, false)[:min(allowed, len(active))], finished) {
			plan.Delete = append(plan.Delete, rollout.Deletion{Pod: pod, Why: rollout.WhyFinalize})
		}
	}
	plan.dropBlocked(o)
	plan.bound(o.Now) // after dropBlocked, so that requests in backoff do not cause another sync at once
	return plan
}
