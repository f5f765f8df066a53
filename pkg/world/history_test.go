package world

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// checkHistory checks that the plan keeps as many old revisions and failed pods as the spec says.
func (s *synced) checkHistory() error {
	if err := s.checkOldRevisions(); err != nil {
		return err
	}
	return s.checkFailedPods()
}

// checkOldRevisions checks that the plan deletes no revision that is in use. Of the others, it keeps the newest ones, up to revisionHistoryLimit.
func (s *synced) checkOldRevisions() error {
	var unused []*appsv1.ControllerRevision
	pods := slices.Concat(s.observed.Pods, s.observed.Orphans)
	for _, stored := range s.Revisions {
		hash := stored.Labels[v1.LabelRevision]
		isUsed := hash == s.updateHash || hash == s.currentHash() || slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return s.hashOf(p) == hash })
		isDropped := slices.ContainsFunc(s.plan.Drop, func(d *appsv1.ControllerRevision) bool { return d.Name == stored.Name })
		switch {
		case isUsed && isDropped:
			return fmt.Errorf("%s is deleted, and in use", stored.Name)
		case !isUsed:
			unused = append(unused, stored)
		}
	}
	if want := max(0, len(unused)-s.Manager.RevisionsKept()); len(s.plan.Drop) != want {
		return fmt.Errorf("%d of %d unused revisions are deleted, want %d", len(s.plan.Drop), len(unused), want)
	}
	for _, dropped := range s.plan.Drop {
		for _, kept := range unused {
			if kept.Revision < dropped.Revision && !slices.Contains(s.plan.Drop, kept) {
				return fmt.Errorf("%s is deleted, and the older %s is not", dropped.Name, kept.Name)
			}
		}
	}
	return nil
}

// checkFailedPods checks that at least failedPodsHistoryLimit failed pods are kept, and the newest ones.
func (s *synced) checkFailedPods() error {
	var kept, deleted []*corev1.Pod
	for _, p := range s.Pods {
		switch {
		case !nodes.IsFinished(p) || p.DeletionTimestamp != nil || !s.isOurs(p):
		case isDeleted(s.plan, p):
			deleted = append(deleted, p)
		default:
			kept = append(kept, p)
		}
	}
	if limit := s.Manager.FailedPodsKept(); len(deleted) > 0 && len(kept) < limit {
		return fmt.Errorf("%d failed pods are deleted, and %d of %d kept", len(deleted), len(kept), limit)
	}
	for _, d := range s.plan.Delete {
		if d.Why != rollout.WhyFinished {
			continue
		}
		newer := 0
		for _, p := range kept {
			if !podstate.FinishedAt(p, s.Now).Before(podstate.FinishedAt(d.Pod, s.Now)) {
				newer++
			}
		}
		if newer < min(len(kept), s.Manager.FailedPodsKept()) {
			return fmt.Errorf("%s is deleted, and older failed pods are kept", d.Pod.Name)
		}
	}
	return nil
}

// checkFailedLeft checks that in the end, besides the failed pods that the spec keeps, only those are left that have yet to be replaced.
func (a *finalState) checkFailedLeft() (string, bool) {
	failed := 0
	for _, p := range a.Pods {
		if nodes.IsFinished(p) && p.DeletionTimestamp == nil && a.isOurs(p) {
			failed++
		}
	}
	missing := max(0, a.Manager.DesiredReplicas()-a.count)
	return fmt.Sprintf("%d failed pods are left", failed), failed <= a.Manager.FailedPodsKept()+missing
}
