package plan

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// assess assesses the rollout of the active pods that count. It plans to delete pods that have been terminating for too long on a lost node, a pod
// that is too old, and leaving pods whose revision the rollout has replaced.
func (p *Plan) assess(o Observed, active, finished, terminating []*corev1.Pod) *rollout.State {
	p.force(o, terminating)
	found := leaving.Find(o.Manager, o.NodeOf, active, o.Now)
	p.Alone = found.Alone
	assess := func() *rollout.State {
		r := rollout.Assess(o.Manager, p.Revisions, o.Capabilities, found.Stay, finished, o.Now, leaving.PodsOf(found.Leave)...)
		if len(found.Waiting) > 0 {
			r.LeaveFirst = map[*corev1.Pod]bool{}
		}
		for _, pod := range found.Waiting {
			r.LeaveFirst[pod.Pod] = true
		}
		return r
	}
	r := assess()
	if r.IsAtRest() {
		count := len(found.Stay)
		if oldest := found.Renew(o.Manager, len(terminating), o.Now); oldest != nil {
			p.Delete = append(p.Delete, rollout.Deletion{Pod: oldest.Pod, Why: rollout.WhyTooOld})
		}
		if len(found.Stay) < count {
			r = assess()
		}
	}
	p.Leaving, p.uncovered = found.Leave, found.Uncovered(o.Manager, o.Now)
	if p.uncovered == 0 {
		p.deleteSuperseded(r)
	}
	p.Again = p.Again.Sooner(requeue.After(o.Now, found.Again, requeue.RequeueLeaving))
	return r
}

// deleteSuperseded plans to delete leaving pods that a rollout or a rollback has replaced, because no pod is to have their revision any more.
func (p *Plan) deleteSuperseded(r *rollout.State) {
	for _, pod := range p.Leaving {
		if why := r.WhySuperseded(pod.Pod); why != "" {
			p.Delete = append(p.Delete, rollout.Deletion{Pod: pod.Pod, Why: why})
		}
	}
}

// force plans to delete pods that have been terminating for too long on a lost node.
func (p *Plan) force(o Observed, terminating []*corev1.Pod) {
	pods, wait := leaving.ToForce(o.Manager, o.NodeOf, terminating, o.Now)
	for _, pod := range pods {
		p.Delete = append(p.Delete, rollout.Deletion{Pod: pod, Why: rollout.WhyNodeLost, Force: true})
	}
	p.Again = p.Again.Sooner(requeue.After(o.Now, wait, requeue.RequeueLeaving))
}
