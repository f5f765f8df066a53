package change

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// Restart replaces all pods, within the rollout's budget. It refuses to roll out a revision again that has failed: that is what Retry is for.
func Restart(manager *v1.PodManager, now time.Time) (Change, error) {
	hint := func(words ...string) string { return text.Hint(manager.Namespace, words...) }
	if hasFailed(manager) {
		return Change{}, fmt.Errorf("the template of %s has been rolled back, has halted or has missed its deadline, and a restart would roll it out again; "+
			"run '%s' or '%s' to leave it, or '%s' to try it again", manager.Name, hint("set", "image", manager.Name, "CONTAINER=IMAGE"),
			hint("undo", manager.Name), hint("retry", manager.Name))
	}
	return restart(manager, now)
}

// restart changes restartAt, which needs new pods.
func restart(manager *v1.PodManager, now time.Time) (Change, error) {
	if manager.PodUpdatePolicy() == v1.InPlaceOnly {
		return Change{}, fmt.Errorf("podUpdatePolicy of %s is %s, and a restart needs new pods; to replace a pod, delete it", manager.Name, v1.InPlaceOnly)
	}
	var c Change
	at := now.UTC().Truncate(time.Second)
	if last := manager.Spec.RestartAt; last != nil && !at.After(last.Time) {
		at = last.UTC().Add(time.Second) // a second restart within the same second must count as well
	}
	c.set(metav1.NewTime(at), "spec", "restartAt")
	c.Said = "restarted" + waits(manager, "the pods are replaced")
	return c, nil
}

// waits returns what pods wait for after a change of the template or of the partition, if they do not follow at once. later is what happens to them
// after a pause. With OnDelete, a pod that is deleted during a pause keeps its revision.
func waits(manager *v1.PodManager, later string) string {
	switch isOnDelete := manager.Strategy() == v1.OnDeleteStrategy; {
	case isOnDelete && manager.Spec.Paused:
		return " (it is paused, and its update strategy is OnDelete: once it is resumed, a pod is replaced when you delete it)"
	case isOnDelete:
		return " (its update strategy is OnDelete: a pod is replaced when you delete it)"
	case manager.Spec.Paused:
		return " (it is paused; " + later + " once it is resumed)"
	default:
		return ""
	}
}

// Retry retries a revision that was rolled back, or whose rollout has halted or missed its deadline. The controller does so when the template
// changes, and a restart is such a change.
func Retry(manager *v1.PodManager, now time.Time) (Change, error) {
	status := &manager.Status
	hint := func(verb string) string { return text.Hint(manager.Namespace, verb, manager.Name) }
	switch {
	case !isObserved(manager):
		return Change{}, fmt.Errorf("the controller has not seen the last change of %s yet; run '%s' first", manager.Name, hint("status"))
	case !hasFailed(manager) && follow.RefusesPods(manager):
		return Change{}, fmt.Errorf("there is nothing to retry: the API server refuses the pods of %s, and %s; run '%s' to see why",
			manager.Name, follow.TriesAgain, hint("why"))
	case !hasFailed(manager):
		replace := "to replace the pods, run '" + hint("restart") + "'"
		if manager.Strategy() == v1.OnDeleteStrategy || manager.PodUpdatePolicy() == v1.InPlaceOnly {
			replace = "to replace a pod, delete it"
		}
		return Change{}, NotFailed{fmt.Sprintf("no revision of %s was rolled back, has halted or missed its deadline, so there is none to retry; %s",
			manager.Name, replace)}
	case manager.PodUpdatePolicy() == v1.InPlaceOnly:
		return Change{}, fmt.Errorf("podUpdatePolicy of %s is %s, and a retry needs new pods; change the template, of which an annotation is enough, or run '%s'",
			manager.Name, v1.InPlaceOnly, hint("undo"))
	}
	c, err := restart(manager, now)
	c.Said = "retries " + status.UpdateRevision + strings.TrimPrefix(c.Said, "restarted") +
		"; to leave it later, run '" + hint("undo") + "': kubectl apply of an old manifest keeps spec.restartAt, and so replaces all pods"
	return c, err
}

// NotFailed is the error of Retry if the present template has not failed. As far as Retry knows, no other revision has failed either.
type NotFailed struct{ said string }

func (n NotFailed) Error() string { return n.said }

// Among returns the error with what the revisions show: how to try the newest other one again that has failed, if there is one.
func (n NotFailed) Among(s snapshot.Snapshot) error {
	others := s.History()[1:]
	at := slices.IndexFunc(others, func(r snapshot.Revision) bool { return r.Failed && r.Number > 0 && r.Template != nil })
	if at < 0 {
		return n
	}
	again := text.Hint(s.Manager.Namespace, "undo", s.Manager.Name, "--to-revision", strconv.FormatInt(others[at].Number, 10))
	return fmt.Errorf("the present template of %s has not failed, so there is nothing to retry; %s has failed before: to try it again, run '%s'",
		s.Manager.Name, others[at].Title(), again)
}

func isObserved(manager *v1.PodManager) bool {
	return manager.Status.ObservedGeneration == manager.Generation
}

// hasFailed reports whether the rollout of the new revision has halted, or has ended without success. It reports false if the
// controller has not seen the last change, which may be another template.
func hasFailed(manager *v1.PodManager) bool {
	status := &manager.Status
	failed := []string{v1.ReasonHalted, v1.ReasonDeadline, v1.ReasonRolledBack}
	is := func(condition metav1.Condition) bool {
		return (condition.Type == v1.ConditionStalled || condition.Type == v1.ConditionReady) && slices.Contains(failed, condition.Reason)
	}
	return isObserved(manager) &&
		(slices.ContainsFunc(status.Conditions, is) || status.FailedRevision != "" && status.FailedRevision == status.UpdateRevision)
}

// Pause freezes rollouts.
func Pause(manager *v1.PodManager, _ time.Time) (Change, error) {
	if manager.Spec.Paused {
		return nothing("is paused already")
	}
	c := Change{Said: "paused (scaling and healing go on)"}
	c.set(true, "spec", "paused")
	return c, nil
}

// Resume lets rollouts continue.
func Resume(manager *v1.PodManager, _ time.Time) (Change, error) {
	if !manager.Spec.Paused {
		return nothing("is not paused")
	}
	c := Change{Said: "resumed"}
	c.remove("spec", "paused")
	return c, nil
}

// Promote lowers the partition, so that more pods get the new revision. With partition 0, all pods get it.
func Promote(to intstr.IntOrString) func(*v1.PodManager, time.Time) (Change, error) {
	return func(manager *v1.PodManager, _ time.Time) (Change, error) {
		if strategy := manager.Strategy(); strategy != v1.RollingUpdateStrategy {
			return Change{}, fmt.Errorf("%s has the update strategy %s, which has no partition to lower", manager.Name, strategy)
		}
		before := ptr.Deref(ptr.Deref(manager.Spec.UpdateStrategy.RollingUpdate, v1.RollingUpdate{}).Partition, intstr.FromInt32(0))
		switch difference, isRounded := comparePartitions(manager, to, before); {
		case difference > 0:
			return Change{}, fmt.Errorf("promote only lowers the partition: %s is above the present %s; to raise it, edit spec.updateStrategy of %s; "+
				"to return to an earlier revision, run '%s'", to.String(), before.String(), manager.Name, text.Hint(manager.Namespace, "undo", manager.Name))
		case difference == 0 && isRounded:
			return nothing("has the partition %s already, and %s of its %d pods are as many", before.String(), to.String(), manager.DesiredReplicas())
		case difference == 0:
			return nothing("has the partition %s already", before.String())
		}
		c := Change{Said: fmt.Sprintf("promoted: partition %s, was %s", to.String(), before.String())}
		if manager.Spec.UpdateStrategy.RollingUpdate == nil {
			c.set(map[string]any{"partition": to}, "spec", "updateStrategy", "rollingUpdate")
		} else {
			c.set(to, "spec", "updateStrategy", "rollingUpdate", "partition")
		}
		c.Said += waits(manager, "more pods are updated")
		return c, nil
	}
}

// comparePartitions returns by how much a partition is above the present one: in percent if both are percentages, which differ for another number of
// replicas even if they mean equally many pods now, and in pods if both are numbers. A number and a percentage are compared as numbers of pods, which
// are rounded, unless one of them is 0.
func comparePartitions(manager *v1.PodManager, to, before intstr.IntOrString) (difference int, isRounded bool) {
	own := func(value intstr.IntOrString) int {
		scaled, _ := intstr.GetScaledValueFromIntOrPercent(&value, 100, false) // 0, like an invalid value, holds no pod back
		return scaled
	}
	if to.Type == before.Type || own(to) == 0 || own(before) == 0 {
		return own(to) - own(before), false
	}
	after := manager.DeepCopy()
	after.Spec.UpdateStrategy.RollingUpdate.Partition = &to
	return after.Partition() - manager.Partition(), true
}
