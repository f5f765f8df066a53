package plan

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// standing are the pods that count: ours, or to be adopted, and neither ending nor ended.
func standing(w *world, o Observed) []*corev1.Pod {
	var found []*corev1.Pod
	for _, p := range slices.Concat(o.Pods, o.Orphans) {
		if p.DeletionTimestamp == nil && !hasEnded(p) && p.Labels[v1.LabelManager] == w.manager.Name {
			found = append(found, p)
		}
	}
	return found
}

func isDeleted(plan Plan, p *corev1.Pod) bool {
	return slices.ContainsFunc(plan.Delete, func(d Deletion) bool { return d.Pod == p })
}

// checkNames: no pod is created under a name that is in use, nor two under one, nor is one deleted twice.
func (w *world) checkNames(plan Plan) error {
	used := map[string]bool{}
	for _, p := range w.pods {
		used[p.Name] = true
	}
	for _, c := range plan.Create {
		name := PodName(w.manager.Name, c.Index)
		if used[name] {
			return fmt.Errorf("%s is created although the name is in use", name)
		}
		used[name] = true
		if c.Revision == nil || c.Revision.Template() == nil {
			return fmt.Errorf("%s is made from nothing", name)
		}
	}
	deleted := map[*corev1.Pod]bool{}
	for _, d := range plan.Delete {
		if deleted[d.Pod] || d.Pod.DeletionTimestamp != nil {
			return fmt.Errorf("%s is deleted twice", d.Pod.Name)
		}
		deleted[d.Pod] = true
	}
	for _, c := range plan.Change {
		if deleted[c.Pod] {
			return fmt.Errorf("%s is changed and deleted", c.Pod.Name)
		}
	}
	return nil
}

// checkCurrent: the present revision becomes the current one only when all pods have it.
func (w *world) checkCurrent(status *v1.PodManagerStatus) error {
	if status.CurrentRevision == status.UpdateRevision && status.CurrentRevision != w.manager.Status.CurrentRevision && status.CurrentReplicas != status.Replicas {
		return fmt.Errorf("%s is current, but only %d of %d pods have it", status.CurrentRevision, status.CurrentReplicas, status.Replicas)
	}
	return nil
}

// checkSurge: creates never bring the pods above replicas + maxSurge; where they wait for others to be gone, those count.
func (w *world) checkSurge(o Observed, plan Plan) error {
	count := len(plan.Create)
	for _, p := range standing(w, o) {
		if !isDeleted(plan, p) || w.manager.Spec.PodReplacementPolicy == v1.TerminationComplete {
			count++
		}
	}
	if w.manager.Spec.PodReplacementPolicy == v1.TerminationComplete {
		for _, p := range o.Pods {
			if p.DeletionTimestamp != nil {
				count++
			}
		}
	}
	if most := w.manager.DesiredReplicas() + w.manager.MaxSurge(); len(plan.Create) > 0 && count > most {
		return fmt.Errorf("surge: %d pods, at most %d allowed", count, most)
	}
	return nil
}

// checkFloor: the plan takes away, or changes, no available pod if fewer than replicas - maxUnavailable would be left; not even one
// that is marked for deletion.
func (w *world) checkFloor(o Observed, plan Plan) error {
	if w.manager.Strategy() == v1.RecreateStrategy {
		return nil
	}
	changed := map[*corev1.Pod]bool{}
	for _, c := range plan.Change {
		changed[c.Pod] = c.Step != StepOpen && (c.Step != StepRestore || mayRestart(c.Pod))
	}
	available, taken := 0, 0
	for _, p := range standing(w, o) {
		deleted := isDeleted(plan, p)
		if !w.isServing(p) {
			continue
		}
		available++
		if deleted || changed[p] {
			taken++
		}
	}
	floor := w.manager.DesiredReplicas() - w.manager.MaxUnavailable()
	if taken > 0 && available-taken < floor {
		return fmt.Errorf("floor: %d of %d available pods taken, at least %d have to stay", taken, available, floor)
	}
	return nil
}

// checkOverlap: Recreate makes no pod while one of another revision may still run.
func (w *world) checkOverlap(o Observed, plan Plan) error {
	if w.manager.Strategy() != v1.RecreateStrategy || len(plan.Create) == 0 {
		return nil
	}
	hash := plan.Create[0].Revision.Hash
	for _, c := range plan.Create {
		if c.Revision.Hash != hash {
			return errors.New("overlap: pods of two revisions created")
		}
	}
	for _, p := range slices.Concat(o.Pods, o.Orphans) {
		if !hasEnded(p) && (w.isOurs(p) || slices.Contains(plan.Adopt, p)) && plan.Revisions.hashOf(p) != hash {
			return fmt.Errorf("overlap: %s of %s is there while pods of %s are created", p.Name, plan.Revisions.hashOf(p), hash)
		}
	}
	return nil
}

// checkUnproven: while there are pods to protect, no more of the new revision are on their way than a rollout needs. What
// is lost during a halt is replaced by the same, though.
func (w *world) checkUnproven(o Observed, plan Plan) error {
	update, current := plan.Revisions.Update, plan.Revisions.Current
	if w.manager.Strategy() != v1.RollingUpdateStrategy || w.manager.Spec.Paused || current == nil || current.Name == update.Name {
		return nil
	}
	_, ended, _ := split(o.Pods)
	r := assess(w.manager, plan.Revisions, standing(w, o), ended, w.now)
	if r.frozen != "" || len(r.based)+len(r.strays) == 0 {
		return nil
	}
	added, underway := 0, 0
	for _, c := range plan.Create {
		if c.Revision.Hash == update.Hash && c.FailuresBefore == 0 {
			added++
		}
	}
	for _, c := range plan.Change {
		if c.Step != StepOpen && c.Step != StepRestore && c.To.Hash == update.Hash {
			added++
		}
	}
	for _, p := range standing(w, o) {
		if plan.Revisions.hashOf(p) == update.Hash && !w.isServing(p) && !isDeleted(plan, p) && !isInfeasible(p) {
			underway++
		}
	}
	if most := w.manager.MaxSurge() + w.manager.MaxUnavailable(); added > 0 && added+underway > most && w.manager.Status.FailedRevision == "" {
		return fmt.Errorf("unproven: %d pods of the new revision are on their way and %d more to come, at most %d allowed", underway, added, most)
	}
	return nil
}

// checkBlame: no pod counts against its revision for what was done to it.
func (w *world) checkBlame(o Observed, plan Plan) error {
	active, ended, _ := split(o.Pods)
	for _, p := range assess(w.manager, plan.Revisions, active, ended, w.now).failing {
		if !w.nodes[p.UID].guilty {
			return fmt.Errorf("blame: %s counts as failing: %s", p.Name, failureOf([]*corev1.Pod{p}))
		}
	}
	return nil
}

// checkSame: the same observation leads to the same plan, and so does one in another order.
func (w *world) checkSame(o Observed, plan Plan) error {
	want := digest(plan)
	if got := digest(Make(o)); !slices.Equal(got, want) {
		return fmt.Errorf("planned again:\n%v\nbefore:\n%v", got, want)
	}
	o.Pods, o.Orphans, o.Revisions = slices.Clone(o.Pods), slices.Clone(o.Orphans), slices.Clone(o.Revisions)
	w.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
	w.Shuffle(len(o.Revisions), func(i, j int) { o.Revisions[i], o.Revisions[j] = o.Revisions[j], o.Revisions[i] })
	slices.Reverse(o.Orphans)
	got := digest(Make(o))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("planned in another order:\n%v\nbefore:\n%v", got, want)
	}
	return nil
}
