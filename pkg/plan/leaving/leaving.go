package leaving

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Node is what the decisions need to know about a node.
type Node struct {
	// Draining is why pods have to leave the node, or empty.
	Draining string
	// LostSince is since when the node is known to be lost. It is zero if the node is not lost, or if so many nodes are not ready that the control
	// plane is more likely to blame.
	LostSince time.Time
	// IsUnknown is set if the state of the node, apart from Draining, is not known: the nodes have not been listed yet, or so many are not ready that
	// the control plane is more likely to blame. Then pods that already leave the node continue to do so, and only Draining makes other pods leave.
	IsUnknown bool
}

// Cause is why a pod leaves.
type Cause string

// The causes.
const (
	Drained Cause = "drain"
	Lost    Cause = "node loss"
	TooOld  Cause = "age"
)

// Pod is a pod that leaves.
type Pod struct {
	*corev1.Pod
	Cause Cause
	// Why describes the cause for users.
	Why string
}

// PodsOf returns the pods that leave.
func PodsOf(leave []Pod) []*corev1.Pod {
	pods := make([]*corev1.Pod, len(leave))
	for i := range leave {
		pods[i] = leave[i].Pod
	}
	return pods
}

// Found is the result of Find.
type Found struct {
	// Stay are the active pods that count, Leave the active pods that do not count any more.
	Stay  []*corev1.Pod
	Leave []Pod
	// Waiting are pods that will leave, but still count until the replacement of another pod is available.
	Waiting []Pod
	// Again is the time until more pods leave without an event; zero means never.
	Again time.Duration
	// Alone is set if pods on drained or lost nodes are not replaced before they are gone, because a pod and its replacement must never run at the
	// same time.
	Alone bool
}

// Find divides the active pods of a PodManager into those that stay and those that leave. Pods that were leaving before come first. If no pods are
// desired, none leaves, because all are deleted wherever they run. A pod that a user has marked for deletion stays, because the mark decides when it
// is deleted.
func Find(manager *v1.PodManager, nodeOf func(name string) Node, active []*corev1.Pod, now time.Time) Found {
	rules := manager.Spec.Disruption
	if rules == nil || manager.DesiredReplicas() == 0 {
		return Found{Stay: active}
	}
	if nodeOf == nil {
		nodeOf = func(string) Node { return Node{} }
	}
	found, before := Found{}, recall(manager, active)
	var drained []Pod
	for _, pod := range active {
		node := nodeOf(pod.Spec.NodeName)
		wait, isLost := untilLost(rules.NodeLoss, node, now)
		found.Again = requeue.Sooner(found.Again, wait)
		switch cause, why := causeOf(rules, before, pod, node, isLost && wait == 0); cause {
		case Lost:
			found.Leave = append(found.Leave, Pod{pod, Lost, "node " + pod.Spec.NodeName + " " + why})
		case Drained:
			drained = append(drained, Pod{pod, Drained, "node " + pod.Spec.NodeName + " " + why})
		default:
			found.Stay = append(found.Stay, pod)
		}
	}
	if manager.Strategy() == v1.RecreateStrategy || manager.Spec.PodReplacementPolicy == v1.TerminationComplete {
		found, drained = Found{Stay: active, Again: found.Again, Alone: len(found.Leave)+len(drained) > 0}, nil
	}
	found.goOnRenewing(manager, before, now)
	slices.SortFunc(drained, before.compare)
	found.pace(manager, drained, now)
	found.bound(manager)
	slices.SortStableFunc(found.Leave, before.compare)
	return found
}

// causeOf returns the cause for which a pod leaves its node, and describes the state of the node. The cause is empty if the pod stays.
func causeOf(rules *v1.Disruption, before leavingBefore, pod *corev1.Pod, node Node, isLost bool) (cause Cause, why string) {
	switch {
	case podstate.IsMarked(pod):
		return "", ""
	case isLost:
		return Lost, "has been lost since " + node.LostSince.UTC().Format(time.RFC3339)
	case rules.OnDrain == v1.ReplaceDrain && node.Draining != "":
		return Drained, node.Draining
	case (node.IsUnknown || !node.LostSince.IsZero()) && rules.NodeLoss != nil && before.has(pod, v1.LeavingForNodeLoss):
		return Lost, "was lost"
	case node.IsUnknown && rules.OnDrain == v1.ReplaceDrain && before.has(pod, v1.LeavingForDrain):
		return Drained, "was being drained"
	default:
		return "", ""
	}
}

// untilLost returns how long the pods of a lost node still count, and whether the node is lost.
func untilLost(rules *v1.NodeLoss, node Node, now time.Time) (time.Duration, bool) {
	if rules == nil || rules.ReplaceAfterSeconds == nil || node.LostSince.IsZero() {
		return 0, false
	}
	return max(0, node.LostSince.Add(time.Duration(*rules.ReplaceAfterSeconds)*time.Second).Sub(now)), true
}

// pace lets as many drained pods leave as replacements may be starting at a time: maxSurge, and at least one. The others still count. Pods that were
// leaving before go on leaving, because they have replacements. Of the others, those with the lowest indices leave first.
func (f *Found) pace(manager *v1.PodManager, drained []Pod, now time.Time) {
	unavailable := len(f.Stay) - f.available(manager, now)
	// An unavailable pod may be a replacement that is starting, so no further one is created for it. But other pods may be unavailable for long.
	// Therefore unavailable pods count only up to the number of pods above the desired ones.
	extra := max(0, len(f.Stay)+len(drained)-manager.DesiredReplicas())
	mayCreate := max(0, max(1, manager.MaxSurge())-min(unavailable, extra))
	missing := manager.DesiredReplicas() - len(f.Stay)
	count := min(len(drained), max(0, missing-mayCreate))
	leave, wait := drained[:len(drained)-count], drained[len(drained)-count:]
	f.Leave, f.Waiting = append(f.Leave, leave...), wait
	for _, pod := range wait {
		f.Stay = append(f.Stay, pod.Pod)
	}
}

// available returns how many of the pods that stay are available.
func (f *Found) available(manager *v1.PodManager, now time.Time) (count int) {
	for _, pod := range f.Stay {
		if health.IsAvailable(pod, manager.MinReady(), now) {
			count++
		}
	}
	return count
}

// Uncovered returns how many of the leaving pods have no replacement that is available.
func (f *Found) Uncovered(manager *v1.PodManager, now time.Time) int {
	return min(len(f.Leave), max(0, manager.DesiredReplicas()-f.available(manager, now)))
}
