package world

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/world/dice"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// disruption is what happens to the nodes: they are cordoned, drained and lost, and return. It has dice of its own.
type disruption struct {
	dice dice.Dice
	// draining are the nodes whose pods are being evicted. hasBudget is set if a PodDisruptionBudget requires as many healthy pods as desired.
	draining  map[string]bool
	hasBudget bool
	// lostSince is when the controller first saw that a node is lost. isStorm is set while the controller sees more than half of the nodes lost.
	// calmSince is when the last storm ended.
	lostSince map[string]time.Time
	isStorm   bool
	calmSince time.Time
	// leaving are the pods that no longer count, according to the last plan.
	leaving map[types.UID]bool
}

// NewDisrupted returns a random world whose nodes are drained and lost, and whose users set spec.disruption.
func NewDisrupted(seed uint64) *World {
	w := New(seed)
	w.disruption = &disruption{dice: dice.New(seed + 1<<41), draining: map[string]bool{}, lostSince: map[string]time.Time{}, leaving: map[types.UID]bool{}}
	w.disruption.hasBudget = w.disruption.dice.Chance(0.7)
	w.Manager.Spec.Disruption = w.disruption.rules()
	return w
}

// rules returns a random spec.disruption.
func (d *disruption) rules() *v1.Disruption {
	rules := &v1.Disruption{}
	if d.dice.Chance(0.8) {
		rules.OnDrain = v1.ReplaceDrain
	}
	if d.dice.Chance(0.6) {
		rules.NodeLoss = &v1.NodeLoss{ReplaceAfterSeconds: ptr.To(dice.Pick[int32](d.dice, 0, 10, 60))}
		if d.dice.Chance(0.5) {
			rules.NodeLoss.ForceDeleteAfterSeconds = ptr.To(dice.Pick[int32](d.dice, 0, 60))
		}
	}
	if d.dice.Chance(0.3) {
		rules.MaxPodAgeSeconds = ptr.To(dice.Pick[int32](d.dice, 600, 3600))
	}
	return rules
}

// nodeOf returns what the controller knows about a node, by the documented rules.
func (w *World) nodeOf(name string) leaving.Node {
	d, found := w.disruption, leaving.Node{}
	if w.IsCordoned(name) {
		found.Draining = "is cordoned"
	}
	w.observeNodes()
	if since, isLost := d.lostSince[name]; isLost && !d.isStorm {
		if found.LostSince = since; d.calmSince.After(since) {
			found.LostSince = d.calmSince
		}
	}
	return found
}

// observeNodes makes the controller notice which nodes are lost.
func (w *World) observeNodes() {
	d := w.disruption
	for _, name := range nodes.Names {
		_, known := d.lostSince[name]
		switch isLost := w.IsNodeLost(name); {
		case !isLost:
			delete(d.lostSince, name)
		case !known:
			d.lostSince[name] = w.Now
		}
	}
	isStorm := 2*len(d.lostSince) > len(nodes.Names)
	if d.isStorm && !isStorm {
		d.calmSince = w.Now
	}
	d.isStorm = isStorm
}

// noteLeaving records which pods no longer count.
func (w *World) noteLeaving(decided plan.Plan) {
	if w.disruption == nil {
		return
	}
	before := maps.Clone(w.disruption.leaving)
	clear(w.disruption.leaving)
	for _, pod := range decided.Leaving {
		w.disruption.leaving[pod.UID] = true
	}
	for uid := range before {
		if hidden := w.hidden[uid]; hidden != nil && !w.disruption.leaving[uid] && !hidden.blame.since.IsZero() {
			hidden.mayCountTwice = true
		}
	}
}

func (w *World) isLeaving(p *corev1.Pod) bool {
	return w.disruption != nil && w.disruption.leaving[p.UID]
}

// leavingPods returns the active pods that are leaving.
func (w *World) leavingPods() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(w.Pods), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil || nodes.IsFinished(p) || !w.isLeaving(p) })
}

// disrupt makes something random happen to a node, or to the rules.
func (w *World) disrupt() {
	d := w.disruption
	if d == nil {
		return
	}
	node := dice.Pick(d.dice, nodes.Names...)
	switch what := d.dice.IntN(20); {
	case what < 4:
		w.Cordon(node)
		d.draining[node] = d.dice.Chance(0.7)
	case what < 9 && w.IsCordoned(node):
		w.Uncordon(node)
		d.draining[node] = false
	case what < 11 && !w.IsNodeLost(node):
		w.Lose(node, w.Pods)
	case what < 14 && w.IsNodeLost(node):
		w.Return(node)
	case what == 14 && d.dice.Chance(0.5):
		w.edit(func(m *v1.PodManager) { m.Spec.Disruption = d.rules() })
		w.logf("user: disruption %s", describeRules(w.Manager.Spec.Disruption))
	}
	w.evict()
}

// evict evicts a pod of a node that is being drained, if the PodDisruptionBudget allows it. It reports whether it has evicted one.
func (w *World) evict() bool {
	d := w.disruption
	if d == nil {
		return false
	}
	healthy := 0
	for _, p := range w.Pods {
		if w.isOurs(p) && p.DeletionTimestamp == nil && nodes.IsReady(p) && !nodes.IsFinished(p) {
			healthy++
		}
	}
	for _, p := range w.Pods {
		if !d.draining[p.Spec.NodeName] || p.DeletionTimestamp != nil || nodes.IsFinished(p) || !w.isOurs(p) || !w.mayEvict(p, healthy) {
			continue
		}
		w.logf("%s: is evicted by the drain", p.Name)
		w.MarkEvicted(p, "EvictionByEvictionAPI")
		w.deletePod(p)
		return true
	}
	return false
}

// mayEvict reports whether the PodDisruptionBudget, if there is one, allows the eviction of a pod while this many pods are healthy.
func (w *World) mayEvict(p *corev1.Pod, healthy int) bool {
	if nodes.IsReady(p) {
		healthy--
	}
	return !w.disruption.hasBudget || healthy >= w.Manager.DesiredReplicas() || p.Status.Phase == corev1.PodPending
}

// endDrains uncordons all nodes.
func (w *World) endDrains() {
	for _, node := range nodes.Names {
		if w.IsCordoned(node) {
			w.Uncordon(node)
		}
	}
	clear(w.disruption.draining)
}

// replacesEarly reports whether the rules require replacements before pods are gone.
func (w *World) replacesEarly() bool {
	return w.Manager.Spec.Disruption != nil && w.Manager.DesiredReplicas() > 0 && w.Manager.Strategy() != v1.RecreateStrategy &&
		w.Manager.Spec.PodReplacementPolicy != v1.TerminationComplete
}

// isDrainedNode reports whether, by the documented rules, the pods of a node are replaced because it is being drained.
func (w *World) isDrainedNode(name string) bool {
	return w.replacesEarly() && w.Manager.Spec.Disruption.OnDrain == v1.ReplaceDrain && w.IsCordoned(name)
}

// untilLost returns how long it takes until the pods of a node no longer count because it is lost, or false if they never do.
func (w *World) untilLost(name string) (time.Duration, bool) {
	rules, d := w.Manager.Spec.Disruption, w.disruption
	since, isLost := d.lostSince[name]
	if !w.replacesEarly() || rules.NodeLoss == nil || rules.NodeLoss.ReplaceAfterSeconds == nil || !isLost || d.isStorm {
		return 0, false
	}
	if d.calmSince.After(since) {
		since = d.calmSince
	}
	return max(0, since.Add(time.Duration(*rules.NodeLoss.ReplaceAfterSeconds)*time.Second).Sub(w.Now)), true
}

// describeRules describes spec.disruption.
func describeRules(rules *v1.Disruption) string {
	text := "onDrain " + string(rules.OnDrain)
	if loss := rules.NodeLoss; loss != nil {
		text += fmt.Sprintf(", lost after %d s, forced after %d s", ptr.Deref(loss.ReplaceAfterSeconds, -1), ptr.Deref(loss.ForceDeleteAfterSeconds, -1))
	}
	return text + fmt.Sprintf(", at most %d s old", ptr.Deref(rules.MaxPodAgeSeconds, -1))
}
