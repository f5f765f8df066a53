package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// assess assesses the rollout of the active pods that count. It plans to delete pods that are terminating for too long on a lost node, and a pod that
// is too old once its replacement is available.
func (p *Plan) assess(o Observed, active, finished, terminating []*corev1.Pod) *rollout.State {
	found := leaving.Find(o.Manager, o.NodeOf, active, o.Now)
	p.Leaving, p.Alone = found.Leave, found.Alone
	p.Again = p.Again.Sooner(requeue.After(o.Now, found.Again, requeue.RequeueLeaving))
	p.force(o, terminating)
	assess := func(stay []*corev1.Pod) *rollout.State {
		p.Assessed = rollout.Assess(o.Manager, p.Revisions, o.Capabilities, stay, finished, o.Now)
		for _, pod := range found.Waiting {
			if p.Assessed.LeaveFirst == nil {
				p.Assessed.LeaveFirst = map[*corev1.Pod]bool{}
			}
			p.Assessed.LeaveFirst[pod.Pod] = true
		}
		return p.Assessed
	}
	r := assess(found.Stay)
	oldest, wait := leaving.Oldest(o.Manager, found.Stay, o.Now)
	if oldest == nil || !r.IsAtRest() {
		p.Again = p.Again.Sooner(requeue.After(o.Now, wait, requeue.RequeueLeaving))
		return r
	}
	stay := slices.DeleteFunc(slices.Clone(found.Stay), func(pod *corev1.Pod) bool { return pod == oldest.Pod })
	available := 0
	for _, pod := range stay {
		if health.IsAvailable(pod, o.Manager.MinReady(), o.Now) {
			available++
		}
	}
	surgesFirst := o.Manager.MaxSurge() > 0 && o.Manager.Spec.PodReplacementPolicy != v1.TerminationComplete
	switch desired := o.Manager.DesiredReplicas(); {
	case surgesFirst && available < desired: // the replacement comes first
		p.Leaving = append(p.Leaving, *oldest)
		return assess(stay)
	case surgesFirst:
		p.Delete = append(p.Delete, rollout.Deletion{Pod: oldest.Pod, Why: rollout.WhyTooOld})
		return assess(stay)
	case len(found.Stay) == desired && available == len(stay) && available >= desired-o.Manager.MaxUnavailable() && len(terminating) == 0:
		p.Delete = append(p.Delete, rollout.Deletion{Pod: oldest.Pod, Why: rollout.WhyTooOld}) // the next plan replaces it
	}
	return r
}

// force plans to delete pods that have been terminating for too long on a lost node.
func (p *Plan) force(o Observed, terminating []*corev1.Pod) {
	pods, wait := leaving.ToForce(o.Manager, o.NodeOf, terminating, o.Now)
	for _, pod := range pods {
		p.Delete = append(p.Delete, rollout.Deletion{Pod: pod, Why: rollout.WhyNodeLost, Force: true})
	}
	p.Again = p.Again.Sooner(requeue.After(o.Now, wait, requeue.RequeueLeaving))
}
