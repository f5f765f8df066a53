package world

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

func isDeleted(decided plan.Plan, p *corev1.Pod) bool {
	return slices.ContainsFunc(decided.Delete, func(d rollout.Deletion) bool { return d.Pod == p })
}

// checkTrimmed checks that the plan does not depend on the fields that the controller's caches drop from pods. The check takes as long as making the
// plan. So it covers all plans with updates in place, which depend on the most fields, and only a fifth of the other plans.
func (s *synced) checkTrimmed() error {
	if len(s.plan.Update) == 0 && (s.plan.Empty() || s.podCount%5 > 0) {
		return nil
	}
	trimmed := s.observed
	trim := func(pods []*corev1.Pod) (all []*corev1.Pod) {
		for _, p := range pods {
			p = p.DeepCopy()
			podstate.Trim(p)
			all = append(all, p)
		}
		return all
	}
	trimmed.Pods, trimmed.Orphans = trim(s.observed.Pods), trim(s.observed.Orphans)
	other := plan.Make(trimmed)
	if got, want := Digest(other), Digest(s.plan); !slices.Equal(got, want) {
		return fmt.Errorf("with trimmed pods the plan is %v, with complete ones %v", got, want)
	}
	for i, update := range s.plan.Update {
		if got, want := patchesOf(other.Update[i], s.World), patchesOf(update, s.World); !slices.Equal(got, want) {
			return fmt.Errorf("the patches of the trimmed pod are %v, of the complete one %v", got, want)
		}
	}
	return nil
}

// patchesOf returns the patches for a step of an update in place.
func patchesOf(update inplace.Update, w *World) []string {
	if update.IsGateStep() {
		return []string{string(must(update.GatePatch(w.Now)))}
	}
	return []string{string(must(update.BeginPatch(w.Now))), string(must(update.ResizePatch())), string(must(update.Patch(w.Manager, w.Now)))}
}

// checkNames checks that no pod is created with a name that is in use, no two pods are created with the same name, and no pod is deleted twice.
func (s *synced) checkNames() error {
	used := map[string]bool{}
	for _, p := range s.Pods {
		used[p.Name] = true
	}
	for _, c := range s.plan.Create {
		name := podstate.PodName(s.Manager.Name, c.Index)
		if used[name] {
			return fmt.Errorf("%s is created although the name is in use", name)
		}
		used[name] = true
		if c.Revision == nil || c.Revision.Template() == nil {
			return fmt.Errorf("%s has no template", name)
		}
	}
	deleted := map[*corev1.Pod]bool{}
	for _, d := range s.plan.Delete {
		if deleted[d.Pod] || d.Pod.DeletionTimestamp != nil && !d.Force {
			return fmt.Errorf("%s is deleted twice", d.Pod.Name)
		}
		deleted[d.Pod] = true
	}
	for _, c := range s.plan.Update {
		if deleted[c.Pod] {
			return fmt.Errorf("%s is updated and deleted", c.Pod.Name)
		}
	}
	return nil
}

// checkSurge checks that creates never bring the number of pods above replicas + maxSurge. With TerminationComplete, terminating pods count, too.
func (s *synced) checkSurge() error {
	count, waits := len(s.plan.Create), s.Manager.Spec.PodReplacementPolicy == v1.TerminationComplete
	for _, p := range s.activePods() {
		if !isDeleted(s.plan, p) || waits {
			count++
		}
	}
	for _, p := range s.observed.Pods {
		if waits && p.DeletionTimestamp != nil {
			count++
		}
	}
	if most := s.Manager.DesiredReplicas() + s.Manager.MaxSurge(); len(s.plan.Create) > 0 && count > most {
		return fmt.Errorf("%d pods, at most %d allowed", count, most)
	}
	return nil
}

// checkFloor checks that the plan deletes or updates no available pod, not even one marked for deletion, if fewer than replicas - maxUnavailable pods
// would stay available. Restoring a pod counts as an update if it restarts a container. If the kubelet is about to restart a pod anyway, the plan may
// take it, even if the kubelet has been silent for long.
func (s *synced) checkFloor() error {
	if s.Manager.Strategy() == v1.RecreateStrategy {
		return nil
	}
	changed := s.takenInPlace()
	available, taken := 0, 0
	for _, p := range s.activePods() {
		if !s.isServing(p) {
			continue
		}
		available++
		isLost := s.willRestart(p) && (s.OldKubelets || !s.IsResizeDelayed(p)) || s.IsStartupDoubtful(p)
		if s.isAvailable(p) && !isLost && (isDeleted(s.plan, p) || changed[p]) {
			taken++
		}
	}
	if floor := s.Manager.DesiredReplicas() - s.Manager.MaxUnavailable(); taken > 0 && available-taken < floor {
		return fmt.Errorf("%d of %d available pods taken, at least %d have to stay", taken, available, floor)
	}
	return nil
}

// checkPace checks that a scale-down deletes no more pods than spec.scaleDown.maxTerminating allows to be terminating at the same time.
func (s *synced) checkPace() error {
	limit, deleted, terminating := s.Manager.Spec.ScaleDown, 0, 0
	if limit == nil || limit.MaxTerminating == nil {
		return nil
	}
	for _, d := range s.plan.Delete {
		if d.Why == rollout.WhySurplus && d.Pod.DeletionTimestamp == nil {
			deleted++
		}
	}
	for _, p := range s.Pods {
		if p.DeletionTimestamp != nil && s.isOurs(p) {
			terminating++
		}
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(limit.MaxTerminating, len(s.Pods), true)
	if deleted > 0 && deleted+terminating > max(1, most) {
		return fmt.Errorf("%d pods deleted beside %d terminating ones, at most %d allowed", deleted, terminating, most)
	}
	return err
}

// takenInPlace returns the pods that the plan makes unavailable for a while to update them.
func (s *synced) takenInPlace() map[*corev1.Pod]bool {
	changed := map[*corev1.Pod]bool{}
	for _, c := range s.plan.Update {
		changed[c.Pod] = takesPod(c)
		if c.Step == inplace.StepRestore {
			containers := c.To.Template().Spec.Containers
			changed[c.Pod] = slices.ContainsFunc(containers, func(container corev1.Container) bool {
				return s.hidden[c.Pod.UID].NeedsRestart(&container)
			})
		}
	}
	return changed
}

// takesPod reports whether a step begins an update.
func takesPod(c inplace.Update) bool {
	return c.Step == inplace.StepUpdate || c.Step == inplace.StepResize || c.Step == inplace.StepDrain
}

// checkResized checks that the kubelet has no resize left to carry out when an update changes an image. Otherwise the kubelet would start the
// container with its new limits inside the pod's old ones.
func (s *synced) checkResized() error {
	for _, c := range s.plan.Update {
		isUnknown := c.Pod.Status.ObservedGeneration == 0 || s.IsBehind(c.Pod) && s.isSilentForLong(c.Pod)
		if c.Step != inplace.StepUpdate || len(c.Diff().Images) == 0 || isUnknown || s.IsResizeDelayed(c.Pod) {
			continue
		}
		resized := c.Pod.DeepCopy()
		if patch := must(c.ResizePatch()); patch != nil {
			ApplyPatch(resized, patch)
		}
		if s.HasResize(resized) {
			return fmt.Errorf("%s gets another image while it is being resized", c.Pod.Name)
		}
	}
	return nil
}

// checkUnmanaged checks that the plan updates no pod in place that the controller did not create, because the template of such a pod is not known.
func (s *synced) checkUnmanaged() error {
	for _, c := range s.plan.Update {
		if s.hidden[c.Pod.UID].byHand && !c.IsGateStep() && c.Step != inplace.StepRestore {
			return fmt.Errorf("%s is updated in place, although another client has created it", c.Pod.Name)
		}
	}
	return nil
}

// checkDrained checks that, with a grace period, no pod that has our readiness gate is updated unless it has been out of its Services for that
// long, or its kubelet has not responded to the closed gate for a minute more. The kubelet's clock makes no difference.
func (s *synced) checkDrained() error {
	grace := s.Manager.InPlaceGrace()
	for _, c := range s.plan.Update {
		gate := nodes.Condition(c.Pod, v1.InPlaceReady)
		changes := c.Step == inplace.StepUpdate || c.Step == inplace.StepResize
		if !changes || !c.NeedsKubelet() || grace == 0 || !podstate.HasGate(c.Pod) {
			continue
		}
		if !isDrained(c.Pod) {
			return fmt.Errorf("%s is updated without being drained", c.Pod.Name)
		}
		closed := s.Now.Sub(gate.LastTransitionTime.Time)
		unready := s.Now.Sub(s.hidden[c.Pod.UID].UnreadySince)
		if closed < grace || closed < grace+time.Minute && (nodes.IsReady(c.Pod) || unready < grace) {
			return fmt.Errorf("%s is updated after %v with its gate closed and %v out of service, want %v", c.Pod.Name, closed, unready, grace)
		}
	}
	return nil
}

// checkOverlap checks that Recreate creates no pod while a pod of another revision may still run.
func (s *synced) checkOverlap() error {
	if s.Manager.Strategy() != v1.RecreateStrategy || len(s.plan.Create) == 0 {
		return nil
	}
	hash := s.plan.Create[0].Revision.Hash
	for _, c := range s.plan.Create {
		if c.Revision.Hash != hash {
			return errors.New("pods of two revisions created")
		}
	}
	for _, p := range slices.Concat(s.observed.Pods, s.observed.Orphans) {
		if !nodes.IsFinished(p) && (s.isOurs(p) || slices.Contains(s.plan.Adopt, p)) && s.hashOf(p) != hash {
			return fmt.Errorf("%s of revision %s still exists while pods of %s are created", p.Name, s.hashOf(p), hash)
		}
	}
	return nil
}

// countUnproven counts by how many the unavailable pods of the new revision, including those that the plan adds, exceed maxSurge + maxUnavailable
// while there are old pods.
func (s *synced) countUnproven() error {
	s.unproven = 0
	current, oldPods := s.currentHash(), 0
	if s.Manager.Strategy() != v1.RollingUpdateStrategy || s.Manager.Spec.Paused || current == "" || current == s.updateHash {
		return nil
	}
	added, unavailable := s.countAdded(), 0
	for _, p := range s.activePods() {
		if s.hashOf(p) != s.updateHash {
			oldPods++
		} else if !s.isAvailable(p) && !isDeleted(s.plan, p) && !s.isInfeasible(p) {
			unavailable++
		}
	}
	blamed, _ := s.countBlamed()
	mustHalt := s.Manager.OnFailure() != v1.ContinueOnFailure && blamed >= s.Manager.FailureThreshold()
	if added > 0 && oldPods > 0 && !mustHalt {
		s.unproven = added + unavailable - s.Manager.MaxSurge() - s.Manager.MaxUnavailable()
	}
	return nil
}

// countAdded counts the pods that the plan adds to the new revision.
func (s *synced) countAdded() (added int) {
	for _, c := range s.plan.Create {
		if c.Revision.Hash == s.updateHash && c.FailuresBefore == 0 {
			added++
		}
	}
	for _, c := range s.plan.Update {
		if takesPod(c) && c.To.Hash == s.updateHash {
			added++
		}
	}
	return added
}

// checkUnproven checks that the limit of countUnproven is not exceeded. The limit does not apply after the revision has failed. It does not apply
// either while the rollout is halted or not possible in place, because lost pods are then replaced by pods of the same revision. If a request has
// failed, the status reports that, and does not show whether the rollout is possible in place.
func (s *synced) checkUnproven() error {
	isHidden := s.failure != nil && s.Manager.PodUpdatePolicy() == v1.InPlaceOnly
	keepsRevisions := func(status *v1.PodManagerStatus) bool {
		reason := reasonOf(status, v1.ConditionReady)
		return reason == v1.ReasonHalted || reason == v1.ReasonNotInPlace
	}
	if s.unproven > 0 && !isHidden && s.before.FailedRevision == "" && !keepsRevisions(&s.before) && !keepsRevisions(&s.status) {
		return fmt.Errorf("the number of unavailable pods of the new revision is %d above the limit", s.unproven)
	}
	return nil
}

// checkSame checks that the same observation leads to the same plan, in whatever order.
func (s *synced) checkSame() error {
	if !s.chance(0.2) {
		return nil
	}
	o, want := s.observed, Digest(s.plan)
	if got := Digest(plan.Make(o)); !slices.Equal(got, want) {
		return fmt.Errorf("planned again:\n%v\nbefore:\n%v", got, want)
	}
	o.Pods, o.Orphans, o.Revisions = slices.Clone(o.Pods), slices.Clone(o.Orphans), slices.Clone(o.Revisions)
	s.dice.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
	s.dice.Shuffle(len(o.Revisions), func(i, j int) { o.Revisions[i], o.Revisions[j] = o.Revisions[j], o.Revisions[i] })
	slices.Reverse(o.Orphans)
	got := Digest(plan.Make(o))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("planned in another order:\n%v\nbefore:\n%v", got, want)
	}
	return nil
}

func reasonOf(status *v1.PodManagerStatus, kind string) string {
	if found := meta.FindStatusCondition(status.Conditions, kind); found != nil {
		return found.Reason
	}
	return ""
}

func messageOf(status *v1.PodManagerStatus, kind string) string {
	if found := meta.FindStatusCondition(status.Conditions, kind); found != nil {
		return found.Message
	}
	return ""
}
