package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
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
		if oldest := found.Renew(o.Manager, len(terminating), r.WouldChangeRevision, o.Now); oldest != nil {
			p.Delete = append(p.Delete, rollout.Deletion{Pod: oldest.Pod, Why: rollout.WhyTooOld})
		}
		if len(found.Stay) < count {
			r = assess()
		}
	}
	p.Leaving = found.Leave
	p.uncovered = slices.Clone(found.Leave[len(found.Leave)-found.Uncovered(o.Manager, o.Now):])
	if len(p.uncovered) == 0 {
		p.deleteSuperseded(r)
	}
	p.Again = p.Again.Sooner(requeue.After(o.Now, found.Again, requeue.RequeueLeaving))
	return r
}

// deleteSuperseded plans to delete leaving pods that a rollout or a rollback has replaced, because no pod is to have their revision any more.
func (p *Plan) deleteSuperseded(r *rollout.State) {
	for _, pod := range p.Leaving {
		if why := r.WhySuperseded(pod.Pod); why != "" && !p.deletes(pod.Pod) {
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

// replaces returns the leaving pod that the next pod to create replaces, or nil if no pod needs a replacement. It prefers leaving pods of the same
// side of the rollout. Of several, it takes the last in the list, which is the one that began to leave last. While failed pods are to be replaced,
// too, it returns only a pod that has no replacement, not even an unavailable one, and needs one of another revision than theirs.
func (p *Plan) replaces(o Observed, r *rollout.State, revision *history.Revision, hasFailed bool) *leaving.Pod {
	isUpdate := func(hash string) bool { return hash == p.Revisions.Update.Hash }
	last := len(p.uncovered) - 1
	isNext := func(pod *corev1.Pod) bool { return isUpdate(p.Revisions.HashOf(pod)) == isUpdate(revision.Hash) }
	if hasFailed {
		last = -1
		isNext = func(pod *corev1.Pod) bool {
			return r.RevisionToReplace(pod, revision).Hash != revision.Hash && !o.isReplaced(pod.UID)
		}
	}
	for i := len(p.uncovered) - 1; i >= 0; i-- {
		if isNext(p.uncovered[i].Pod) {
			last = i
			break
		}
	}
	if last < 0 {
		return nil
	}
	pod := p.uncovered[last]
	p.uncovered = slices.Delete(p.uncovered, last, last+1)
	return &pod
}

// isReplaced reports whether a pod that has not finished was created to replace the pod with this UID.
func (o Observed) isReplaced(uid types.UID) bool {
	return slices.ContainsFunc(o.Pods, func(pod *corev1.Pod) bool {
		return !podstate.IsFinished(pod) && pod.DeletionTimestamp == nil && slices.Contains(health.Replaces(pod), uid)
	})
}
