package plan

import (
	"slices"
	"time"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// leftoversAfter is how long the garbage collector has to delete what a deleted PodManager of the same name left behind.
const leftoversAfter = 30 * time.Second

// removeLeftovers deletes the pods and revisions of a deleted PodManager of the same name. Usually the garbage collector does that. But if its
// watch breaks between the deletion of the old PodManager and the creation of the new one, it sees only an update, and never learns that the owner
// is gone.
func (p *Plan) removeLeftovers(o Observed) {
	active, finished, _ := podstate.Split(o.Leftovers)
	if len(active)+len(finished)+len(o.LeftoverRevisions) == 0 {
		return
	}
	if wait := o.Manager.CreationTimestamp.Add(leftoversAfter).Sub(o.Now); wait > 0 {
		p.Again = p.Again.Sooner(requeue.After(o.Now, wait, requeue.RequeueLeftovers))
		return
	}
	for _, pod := range slices.Concat(active, finished) {
		p.Delete = append(p.Delete, rollout.Deletion{Pod: pod, Why: rollout.WhyLeftover})
	}
	p.Drop = append(p.Drop, o.LeftoverRevisions...)
}

// adopt plans to adopt orphans. Terminating and finished pods are not adopted, because they do not count as replicas. While adoptions are in
// backoff, orphans do not count either.
func (p *Plan) adopt(o Observed) {
	p.Adopt, _, _ = podstate.Split(o.Orphans)
	if p.isBlocked(o, requeue.BackoffAdopt, len(p.Adopt)) {
		p.Adopt = nil
	}
}
