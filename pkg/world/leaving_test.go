package world

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// While nodes are drained and lost, return, and pods grow old, the planner keeps all promises, including those about pods that leave. See
// TestProperties; PLAN_LEAVING_SEED=<seed> runs one scenario again.
func TestPropertiesOfLeaving(t *testing.T) {
	if text := os.Getenv("PLAN_LEAVING_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		replayDisrupted(t, seed)
		return
	}
	first, most, limit := uint64(1), scenarios/25, time.Duration(math.MaxInt64)
	if testing.Short() {
		most = scenarios / 100
	}
	if text := os.Getenv("PLAN_TIME"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		first, most = rand.Uint64N(1<<40), math.MaxInt
	}
	t.Logf("seeds from %d", first)
	start, done := time.Now(), 0
	for ; done < most && time.Since(start) < limit; done++ {
		if err := playDisrupted(NewDisrupted(first + uint64(done))); err != nil {
			replayDisrupted(t, first+uint64(done))
			t.FailNow()
		}
	}
	t.Logf("%d scenarios", done)
}

// replayDisrupted runs one scenario again, and prints its last steps if it fails.
func replayDisrupted(t *testing.T, seed uint64) {
	t.Helper()
	var lines []string
	w := NewDisrupted(seed)
	w.Tell = func(format string, args ...any) {
		lines = append(lines, w.Now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
	w.logf("%s, %s, budget %v", w.Describe(), describeRules(w.Manager.Spec.Disruption), w.disruption.hasBudget)
	err := playDisrupted(w)
	const last = 60
	if len(lines) > last {
		lines = append(lines[:1], lines[len(lines)-last:]...)
	}
	if err != nil {
		t.Errorf("PLAN_LEAVING_SEED=%d: %v\n%s\n%s", seed, err, strings.Join(lines, "\n"), w.Describe())
	}
}

// playDisrupted runs a time of trouble, and then calm: drains end, nodes are uncordoned, and pods are renewed.
func playDisrupted(w *World) error {
	v := &verdicts{}
	for range 5 + w.dice.IntN(25) {
		w.Pass()
		if _, err := sync(w, v); err != nil {
			return err
		}
		w.Happen()
		if _, err := sync(w, v); err != nil {
			return err
		}
	}
	w.CalmDown()
	w.edit(func(m *v1.PodManager) {
		m.Spec.Disruption = m.Spec.Disruption.DeepCopy()
		m.Spec.Disruption.MaxPodAgeSeconds = nil
	}) // with a maximum age, there would always be something to do
	if err := runUntilIdle(w, v); err != nil {
		return err
	}
	if err := w.checkDrains(); err != nil {
		return err
	}
	w.endDrains()
	if err := runUntilIdle(w, v); err != nil {
		return err
	}
	if len(w.leavingPods()) > 0 {
		return fmt.Errorf("%d pods are leaving although all nodes are there", len(w.leavingPods()))
	}
	if err := w.checkFinalState(); err != nil {
		return fmt.Errorf("arrival: %w", err)
	}
	return w.checkRenewal(v)
}

// checkDrains checks that drains with a PodDisruptionBudget have ended if spec.disruption replaces drained pods and there is room, and that zero
// replicas leave no pods.
func (w *World) checkDrains() error {
	desired, left, leave := w.Manager.DesiredReplicas(), 0, w.leavingPods()
	if len(leave) < w.Manager.DesiredReplicas() { // otherwise no further pod may leave, until those are evicted
		leave = append(leave, w.activePods()...)
	}
	for _, p := range leave {
		if w.disruption.draining[p.Spec.NodeName] && w.IsCordoned(p.Spec.NodeName) && w.isOurs(p) {
			left++
		}
	}
	isFull := true
	for _, name := range nodes.Names {
		isFull = isFull && w.IsCordoned(name)
	}
	switch {
	case desired == 0 && len(w.leavingPods()) > 0:
		return errors.New("pods on drained nodes are leaving, although zero replicas are desired")
	case slices.ContainsFunc(w.activePods(), func(p *corev1.Pod) bool { return !w.isAvailable(p) }): // an unavailable pod takes the place of a replacement
		return nil
	case left > 0 && w.isDrainHelped() && !isFull && w.countServingAnywhere() >= desired:
		return fmt.Errorf("%d pods are still on drained nodes, although all %d replicas could serve elsewhere", left, desired)
	}
	return nil
}

// isDrainHelped reports whether the rules replace the pods of drained nodes first.
func (w *World) isDrainHelped() bool {
	return w.replacesEarly() && w.Manager.Spec.Disruption.OnDrain == v1.ReplaceDrain
}

// countServingAnywhere counts the available pods, including leaving ones.
func (w *World) countServingAnywhere() (count int) {
	for _, p := range slices.Concat(w.activePods(), w.leavingPods()) {
		if w.isAvailable(p) {
			count++
		}
	}
	return count
}

// isRevisionLost reports whether no other pod can be created from the revision of a pod.
func (w *World) isRevisionLost(p *corev1.Pod) bool {
	return !slices.ContainsFunc(w.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Labels[v1.LabelRevision] == w.hashOf(p) })
}

// isStuckSomewhere reports whether a pod stays terminating.
func (w *World) isStuckSomewhere() bool {
	return slices.ContainsFunc(w.Pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// leavingBecause returns why a pod leaves by the documented rules: drain, node loss, age, or empty. A pod that has begun to leave a lost node goes on
// leaving if the user raises replaceAfterSeconds. If the node is being drained, too, that is the reason from then on.
func (s *synced) leavingBecause(p *corev1.Pod) leaving.Cause {
	rules := s.Manager.Spec.Disruption
	wait, isLost := s.untilLost(p.Spec.NodeName)
	isDrained := s.isDrainedNode(p.Spec.NodeName)
	switch {
	case s.disruption == nil || rules == nil || s.Manager.DesiredReplicas() == 0:
		return ""
	case isLost && (wait == 0 || !isDrained && s.wasLeaving(p.Name, v1.LeavingForNodeLoss)) && !isMarkedForDeletion(p):
		return leaving.Lost
	case isDrained && !isMarkedForDeletion(p):
		return leaving.Drained
	case rules.MaxPodAgeSeconds != nil && s.Now.Sub(p.CreationTimestamp.Time) >= time.Duration(*rules.MaxPodAgeSeconds)*time.Second*9/10:
		return leaving.TooOld
	default:
		return ""
	}
}

// wasLeaving reports whether the last status says that a pod leaves for this cause: then it goes on leaving.
func (s *synced) wasLeaving(name string, cause v1.LeavingCause) bool {
	return slices.ContainsFunc(s.before.LeavingPods, func(l v1.LeavingPod) bool { return l.Name == name && l.Cause == cause })
}

// checkLeaving checks that pods leave for the reasons in the manual, and only for these. Some drained pods may still have to wait. Of the pods that
// are too old, at most one leaves.
func (s *synced) checkLeaving() error {
	if s.disruption == nil {
		return nil
	}
	tooOld := 0
	for _, pod := range s.plan.Leaving {
		why := s.leavingBecause(pod.Pod)
		if pod.Cause != why {
			return fmt.Errorf("%s is leaving because of %q, and the manual says %q", pod.Name, pod.Cause, why)
		}
		if why == leaving.TooOld {
			tooOld++
		}
	}
	if tooOld > 1 {
		return fmt.Errorf("%d pods leave because of their age", tooOld)
	}
	for _, p := range s.activePods() { // those that do not leave
		mayCount := len(s.plan.Leaving) >= s.Manager.DesiredReplicas() && p.Status.StartTime == nil // it was scheduled to a lost node
		if s.leavingBecause(p) == leaving.Lost && !mayCount {
			return fmt.Errorf("%s counts, although its node is lost", p.Name)
		}
		if s.disruption.isStorm && s.IsNodeLost(p.Spec.NodeName) && s.isLeaving(p) && !s.IsCordoned(p.Spec.NodeName) {
			return fmt.Errorf("%s is leaving although most nodes are lost", p.Name)
		}
	}
	return nil
}

// checkLeavingInTime checks that the controller syncs again when pods of a lost node stop counting.
func (s *synced) checkLeavingInTime() error {
	if s.disruption == nil || s.failure != nil {
		return nil
	}
	for _, p := range s.activePods() {
		wait, isLost := s.untilLost(p.Spec.NodeName)
		if isLost && wait > 0 && !isMarkedForDeletion(p) && (s.Again.Never() || s.Again.At.After(s.Now.Add(wait))) {
			return fmt.Errorf("%s is lost in %v, and the next sync is at %v", p.Name, wait, s.Again.At)
		}
	}
	return nil
}

// checkLeavingFirst checks that no leaving pod is deleted before as many pods as desired are available, not counting leaving pods. A rollout and a
// scale-down may still delete drained pods that count.
func (s *synced) checkLeavingFirst() error {
	if s.disruption == nil {
		return nil
	}
	for _, d := range s.plan.Delete {
		others := s.countOthers(d.Why)
		if !d.Force && d.Pod.DeletionTimestamp == nil && s.hasBegunToLeave(d) && others < s.Manager.DesiredReplicas() {
			return fmt.Errorf("%s is deleted, %s, with %d other pods of %d available", d.Pod.Name, d.Why, others, s.Manager.DesiredReplicas())
		}
		if d.Force && (!s.IsNodeLost(d.Pod.Spec.NodeName) || d.Pod.DeletionTimestamp == nil || s.disruption.isStorm) {
			return fmt.Errorf("%s is deleted by force", d.Pod.Name)
		}
	}
	return nil
}

// countOthers returns how many available pods count when a leaving pod is deleted for this reason: those that the plan keeps. For a rollout, pods that
// a user has marked count as well, although the plan deletes them within maxUnavailable: they were available, and the rollout could have deleted the
// leaving pod first, and the marked ones afterwards.
func (s *synced) countOthers(why rollout.Why) (count int) {
	isRollout := why == rollout.WhyOutdated || why == rollout.WhyRolledBack
	for _, p := range s.activePods() {
		if !s.isServing(p) {
			continue
		}
		if !isDeleted(s.plan, p) || isRollout && slices.Contains(s.plan.Delete, rollout.Deletion{Pod: p, Why: rollout.WhyMarked}) {
			count++
		}
	}
	return count
}

// hasBegunToLeave reports whether the replacement of a deleted pod must be available before the deletion.
func (s *synced) hasBegunToLeave(d rollout.Deletion) bool {
	surgesFirst := s.Manager.MaxSurge() > 0 && s.Manager.Spec.PodReplacementPolicy != v1.TerminationComplete
	return s.isLeaving(d.Pod) || d.Why == rollout.WhyTooOld && surgesFirst
}

// checkLeavingPace checks how many replacements of drained pods may be starting at a time: maxSurge, and at least one. So of the pods above the
// desired number, no more than that do not serve yet.
func (s *synced) checkLeavingPace() error {
	isDrain := func(l leaving.Pod) bool { return l.Cause == leaving.Drained }
	if s.disruption == nil || len(s.plan.Create) == 0 || !slices.ContainsFunc(s.plan.Leaving, isDrain) {
		return nil
	}
	stay, starting, added := s.countStarting()
	drained := 0
	for _, l := range s.plan.Leaving {
		if isDrain(l) {
			drained++
		}
	}
	extra, most := stay+drained-s.Manager.DesiredReplicas(), max(1, s.Manager.MaxSurge())
	isMoving := func(p *corev1.Pod) bool {
		return slices.ContainsFunc(s.plan.Create, func(c plan.Creation) bool { return c.Revision.Hash != s.hashOf(p) })
	}
	if slices.ContainsFunc(slices.Concat(s.activePods(), s.leavingPods()), isMoving) {
		most += s.Manager.MaxUnavailable() // a rollout or rollback starts pods in place of those that it takes down
	}
	starting -= len(s.plan.Create) - added // a deleted pod may always be replaced
	if added > 0 && stay <= s.Manager.DesiredReplicas() && min(starting, extra) > most {
		return fmt.Errorf("%d pods start, %d are extra, at most %d at a time", starting, extra, most)
	}
	return nil
}

// countStarting returns how many pods count after the plan, how many of them are starting, and how many pods it creates beyond those that it deletes,
// and those that users have deleted or relabelled since the last sync.
func (s *synced) countStarting() (stay, starting, added int) {
	stay, starting, added = len(s.plan.Create), len(s.plan.Create), len(s.plan.Create)
	for _, p := range s.activePods() {
		if isDeleted(s.plan, p) {
			added--
			continue
		}
		if stay++; !s.isAvailable(p) && !s.isDrainedNode(p.Spec.NodeName) {
			starting++
		}
	}
	for _, p := range s.Pods {
		if nodes.IsFinished(p) && isDeleted(s.plan, p) {
			added-- // it has just failed, or was replaced before
		}
	}
	for _, p := range s.Pods {
		if s.verdicts.active[p.UID] && (p.DeletionTimestamp != nil || p.Labels[v1.LabelManager] != s.Manager.Name) {
			added--
		}
	}
	return stay, starting, added
}

// renewed returns the pods that are deleted or begin to leave because of their age.
func (s *synced) renewed() (pods []*corev1.Pod) {
	for _, d := range s.plan.Delete {
		if d.Why == rollout.WhyTooOld {
			pods = append(pods, d.Pod)
		}
	}
	for _, l := range s.plan.Leaving {
		if l.Cause == leaving.TooOld && !s.wasLeaving(l.Name, v1.LeavingForAge) {
			pods = append(pods, l.Pod)
		}
	}
	return pods
}

// hasPodsToMove reports whether active pods have yet to get the revision of a rollout without a partition, or of a rollback.
func (s *synced) hasPodsToMove() bool {
	wanted := s.updateHash
	if s.isRolledBack() {
		wanted = s.currentHash()
	}
	isMoving := func(p *corev1.Pod) bool { return s.hashOf(p) != wanted }
	return slices.ContainsFunc(s.activePods(), isMoving) && s.Manager.Partition() == 0 && s.Manager.Strategy() == v1.RollingUpdateStrategy
}

// checkAge checks that at most one pod at a time is deleted, or begins to leave, because of its age. That must be the oldest one. During a rollout, a
// rollback, a halt or a pause, no pod may leave for that reason.
func (s *synced) checkAge() error {
	renewed := s.renewed()
	if s.disruption == nil || len(renewed) == 0 {
		return nil
	}
	isRollout := s.hasPodsToMove()
	if len(renewed) > 1 || s.Manager.Spec.Paused || isRollout || s.mustHalt() {
		return fmt.Errorf("%v are renewed; paused %v, rollout %v, halt %v", podstate.PodName(s.Manager.Name, len(renewed)), s.Manager.Spec.Paused, isRollout, s.mustHalt())
	}
	limit := time.Duration(*s.Manager.Spec.Disruption.MaxPodAgeSeconds) * time.Second
	if s.isLeaving(renewed[0]) && isDeleted(s.plan, renewed[0]) { // it was the oldest when it began to leave
		return nil
	}
	for _, p := range s.activePods() {
		if p.CreationTimestamp.Before(&renewed[0].CreationTimestamp) && s.Now.Sub(p.CreationTimestamp.Time) > limit && !s.mayStay(p) {
			return fmt.Errorf("%s is renewed, and %s is older", renewed[0].Name, p.Name)
		}
	}
	return nil
}
