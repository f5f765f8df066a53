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
	} else {
		p.findReplaced(o.Pods)
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

// keptRevisions returns the revisions of leaving pods that are to be replaced on a side of the rollout by pods of their own revision, and not of the
// side's. It returns one for each of these pods, and at most as many as pods are missing.
func (p *Plan) keptRevisions(r *rollout.State, revision *history.Revision, missing int) (kept []*history.Revision) {
	for _, pod := range slices.Backward(p.uncovered) {
		if len(kept) >= missing {
			break
		}
		if own := r.RevisionToReplace(pod.Pod, revision); own != revision && !p.replaced[pod.UID] {
			kept = append(kept, own)
		}
	}
	return kept
}

// ofLeaving returns the failed pods that were created to replace a leaving pod and are to be replaced by pods of its own revision, on a side of the
// rollout that has another one.
func (p *Plan) ofLeaving(r *rollout.State, side, own *history.Revision, retries health.Retries) health.Retries {
	isOther := func(retry health.Retry) bool {
		replaced := health.Replaces(retry.Pod)
		return !slices.ContainsFunc(p.Leaving, func(pod leaving.Pod) bool {
			return slices.Contains(replaced, pod.UID) && r.RevisionToReplace(pod.Pod, side) == own
		})
	}
	return health.Retries{Waiting: slices.DeleteFunc(retries.Waiting, isOther), Due: slices.DeleteFunc(retries.Due, isOther)}
}

// replaces returns the leaving pod that the next pod of a revision replaces, or nil if no pod needs such a replacement. It prefers pods of the same
// side of the rollout and, among them, those without any replacement. Of several, it takes the one that began to leave last.
func (p *Plan) replaces(r *rollout.State, revision *history.Revision) *leaving.Pod {
	isUpdate := func(hash string) bool { return hash == p.Revisions.Update.Hash }
	side := revision
	if revision != p.Revisions.Update {
		side = r.Old
	}
	found, best := -1, -1
	for i := len(p.uncovered) - 1; i >= 0 && best < 2; i-- {
		pod, rank := p.uncovered[i].Pod, 0
		if r.RevisionToReplace(pod, side) != revision {
			continue
		}
		if isUpdate(p.Revisions.HashOf(pod)) == isUpdate(revision.Hash) {
			rank++
			if !p.replaced[pod.UID] {
				rank++
			}
		}
		if rank > best {
			found, best = i, rank
		}
	}
	if found < 0 {
		return nil
	}
	pod := p.uncovered[found]
	p.uncovered = slices.Delete(p.uncovered, found, found+1)
	return &pod
}

// findReplaced finds the pods that have a replacement which has not finished.
func (p *Plan) findReplaced(pods []*corev1.Pod) {
	p.replaced = map[types.UID]bool{}
	for _, pod := range pods {
		if podstate.IsFinished(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		for _, uid := range health.Replaces(pod) {
			p.replaced[uid] = true
		}
	}
}
