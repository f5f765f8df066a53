package world

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

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

// checkTrimmed checks that the fields that the controller's caches drop from pods make no difference. The check takes as long as the plan. So it
// always covers only updates in place, which depend on the most fields, and a fifth of the other plans that do something.
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
			return fmt.Errorf("%s is changed and deleted", c.Pod.Name)
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

// checkFloor checks that the plan deletes or updates no available pod, not even one marked for deletion, if fewer than replicas - maxUnavailable
// pods would stay available. A restored pod counts if a container has to restart. A pod that its kubelet is about to restart is no loss, even if
// the kubelet has been silent for long.
func (s *synced) checkFloor() error {
	if s.Manager.Strategy() == v1.RecreateStrategy {
		return nil
	}
	changed := map[*corev1.Pod]bool{}
	for _, c := range s.plan.Update {
		changed[c.Pod] = c.Step == inplace.StepUpdate || c.Step == inplace.StepResize || c.Step == inplace.StepDrain
		if c.Step == inplace.StepRestore {
			containers := c.To.Template().Spec.Containers
			changed[c.Pod] = slices.ContainsFunc(containers, func(container corev1.Container) bool {
				return s.hidden[c.Pod.UID].NeedsRestart(&container)
			})
		}
	}
	available, taken := 0, 0
	for _, p := range s.activePods() {
		if !s.isServing(p) {
			continue
		}
		available++
		isLost := s.willRestart(p) && (s.OldKubelets || !s.IsResizeDelayed(p))
		if s.isAvailable(p) && !isLost && (isDeleted(s.plan, p) || changed[p]) {
			taken++
		}
	}
	if floor := s.Manager.DesiredReplicas() - s.Manager.MaxUnavailable(); taken > 0 && available-taken < floor {
		return fmt.Errorf("%d of %d available pods taken, at least %d have to stay", taken, available, floor)
	}
	return nil
}

// checkResized checks that no update changes an image together with CPU or memory, nor while the kubelet has a resize to carry out: the kubelet
// would start the container with its new limits inside the pod's old ones.
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

// checkUnmanaged checks that no pod is updated in place whose template is not known, because the controller did not create it.
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
			return fmt.Errorf("%s of %s is there while pods of %s are created", p.Name, s.hashOf(p), hash)
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
	added, unavailable := 0, 0
	for _, c := range s.plan.Create {
		if c.Revision.Hash == s.updateHash && c.FailuresBefore == 0 {
			added++
		}
	}
	for _, c := range s.plan.Update {
		if (c.Step == inplace.StepUpdate || c.Step == inplace.StepResize || c.Step == inplace.StepDrain) && c.To.Hash == s.updateHash {
			added++
		}
	}
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

// checkUnproven checks that a rollout has no unproven pods. This does not hold while the rollout is halted or not possible in place, because lost
// pods are then replaced by pods of the same revision, nor after the revision has failed. If a request has failed, the status reports that instead
// of what is not possible in place.
func (s *synced) checkUnproven() error {
	isHidden := s.failure != nil && s.Manager.PodUpdatePolicy() == v1.InPlaceOnly
	keepsRevisions := func(status *v1.PodManagerStatus) bool {
		reason := reasonOf(status, v1.ConditionReady)
		return reason == v1.ReasonHalted || reason == v1.ReasonNotInPlace
	}
	if s.unproven > 0 && !isHidden && s.before.FailedRevision == "" && !keepsRevisions(&s.before) && !keepsRevisions(&s.status) {
		return fmt.Errorf("%d pods of the new revision too many are unavailable", s.unproven)
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

// checkCurrent checks that the new revision becomes the current one when it has been good for the bake time. A superseded revision becomes current
// only if there is none, and enough of its pods are available.
func (s *synced) checkCurrent() error {
	status := &s.status
	switch {
	case status.CurrentRevision == s.before.CurrentRevision:
		return nil
	case status.CurrentRevision != status.UpdateRevision:
		if hash := strings.TrimPrefix(status.CurrentRevision, s.Manager.Name+"-"); s.hadCurrent || s.countAvailable(hash) < s.enough() {
			return fmt.Errorf("%s became the current revision, with %d available pods of %d", status.CurrentRevision, s.countAvailable(hash), s.enough())
		}
		return nil
	case s.baking.revision != s.updateHash:
		return fmt.Errorf("%s is current, and not good", status.CurrentRevision)
	case s.Now.Sub(s.baking.since) < s.Manager.BakeTime()-2*time.Second: // the times of recovery and baking are whole seconds
		return fmt.Errorf("%s is current, and was good for %v of %v", status.CurrentRevision, s.Now.Sub(s.baking.since), s.Manager.BakeTime())
	}
	return nil
}

// checkMade checks when a pod is created from, or moved to, a revision other than the new one. In a rollback, it must be the current revision. If
// pods of the old side are missing, it must be the newest revision that runs there, or else the current one.
func (s *synced) checkMade() error {
	want := cmp.Or(s.newestOld(), s.currentHash())
	if s.isRolledBack() {
		want = s.currentHash()
	}
	for _, c := range s.plan.Create {
		if c.Revision.Hash != s.updateHash && c.Revision.Hash != want {
			return fmt.Errorf("a pod of %s is made, want %s", c.Revision.Hash, want)
		}
	}
	for _, c := range s.plan.Update {
		if c.To != nil && c.To.Hash != s.updateHash && c.To.Hash != want && c.To.Hash != s.hashOf(c.Pod) {
			return fmt.Errorf("%s is updated to %s, want %s", c.Pod.Name, c.To.Hash, want)
		}
	}
	return nil
}

// isRolledBack reports whether the new revision has failed, according to the status or its mark.
func (s *synced) isRolledBack() bool {
	isMarked := func(r *appsv1.ControllerRevision) bool {
		return r.Labels[v1.LabelRevision] == s.updateHash && r.Annotations[v1.AnnotationFailed] != ""
	}
	return s.Manager.OnFailure() != v1.ContinueOnFailure && s.before.FailedRevision == s.plan.Revisions.Update.Name ||
		s.Manager.OnFailure() == v1.RollbackOnFailure && slices.ContainsFunc(s.Revisions, isMarked)
}

// checkLeftAlone checks that a partition leaves the specified number of pods of other revisions alone, and that a halt, a pause and OnDelete leave
// all of them alone.
func (s *synced) checkLeftAlone() error {
	old, taken := s.oldPods(), 0
	may := max(0, len(old)-s.Manager.Partition())
	if s.mustHalt() {
		may = 0
	}
	if s.currentHash() == s.updateHash {
		may = len(old) // back to the good revision
	}
	if s.Manager.Spec.Paused || s.Manager.Strategy() == v1.OnDeleteStrategy {
		may = 0
	}
	if s.isRolledBack() {
		return nil
	}
	for _, d := range s.plan.Delete {
		if d.Why.IsRollout() && slices.Contains(old, d.Pod) {
			taken++
		}
	}
	for _, c := range s.plan.Update {
		if c.To != nil && c.To.Hash != s.hashOf(c.Pod) && slices.Contains(old, c.Pod) {
			taken++
		}
	}
	if taken > may {
		return fmt.Errorf("%d pods of other revisions are moved, at most %d may be", taken, may)
	}
	return nil
}

// mustHalt reports whether failureThreshold pods of the new revision have failed, as the status says, and are still down.
func (s *synced) mustHalt() bool {
	down := 0
	for _, p := range s.activePods() {
		if blame := s.hidden[p.UID].blame; s.hashOf(p) == s.updateHash && s.isBlamed(p) && blame.told && !blame.inherited && !nodes.IsReady(p) {
			down++
		}
	}
	return down >= s.Manager.FailureThreshold() && s.Manager.OnFailure() != v1.ContinueOnFailure && s.Manager.Strategy() == v1.RollingUpdateStrategy
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
