package world

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Step lets time pass and something happen, and the controller look at it.
func (w *World) Step() {
	w.Pass()
	w.Happen()
	w.Sync()
}

// Pass lets time pass, while nothing happens. Mostly, that is not longer than the controller has asked for: it would look.
func (w *World) Pass() {
	wait := pick(w, 0, 300*time.Millisecond, time.Second, 10*time.Second, 30*time.Second, time.Minute) * time.Duration(w.dice.IntN(4))
	if until := w.Again.At.Sub(w.Now); !w.Again.Never() && until < wait && w.chance(0.8) {
		wait = max(0, until)
	}
	w.pass(wait)
}

// pass lets so much time pass. The clock of a rollout runs while updated pods that are due are not available, and one of them is
// there; where the controller could not write down that it has stopped, nobody can ask it to.
func (w *World) pass(wait time.Duration) {
	if w.progressClock.revision != w.updateHash {
		w.progressClock = progressStopwatch{revision: w.updateHash}
	}
	available, isMissing := w.countUpdated()
	if w.statusUnwritten || !w.Manager.Spec.Paused && isMissing && available < w.desiredUpdated() {
		w.progressClock.elapsed += wait
	}
	w.Now = w.Now.Add(wait)
}

// progress starts the clock anew if more updated pods are available than ever, and the controller has seen that.
func (w *World) noteProgress() {
	if available, _ := w.countUpdated(); available > w.progressClock.mostAvailable || w.progressClock.revision != w.updateHash {
		w.progressClock = progressStopwatch{revision: w.updateHash, mostAvailable: available}
	}
}

// Happen lets some of what could happen do so.
func (w *World) Happen() {
	eager := w.dice.Float64()
	for _, p := range slices.Clone(w.Pods) {
		if step := w.nextStep(p); step != nil && w.chance(eager) {
			step()
		}
	}
	for range w.dice.IntN(3) {
		if w.chance(0.4*w.mishapRate) && len(w.Pods) > 0 && w.mishap(w.Pods[w.dice.IntN(len(w.Pods))]) {
			w.editAfterCrash()
		}
	}
	switch {
	case w.chance(0.25):
		w.relapse()
	case w.chance(0.01):
		w.toggleNode()
	case w.chance(0.01):
		w.deleteRevision()
	case w.chance(0.007):
		w.breakImage()
	}
	if w.chance(0.15 * w.mishapRate) {
		w.editSpec()
	}
}

// CalmDown ends the time of trouble. What is broken stays so, and some pods that are going never go.
func (w *World) CalmDown() {
	w.scaleToZeroIfStuck()
	w.logf("calm")
	w.Calm, w.churn = true, 0
	clear(w.lostNodes)
	for _, p := range w.Pods {
		w.hidden[p.UID].stuck = w.hidden[p.UID].stuck && w.chance(0.3)
	}
}

// Settle lets the nodes do some of what is left for them to do, and tells whether there was any.
func (w *World) Settle() bool {
	moved := false
	for _, p := range slices.Clone(w.Pods) {
		if step := w.nextStep(p); step != nil {
			moved = true
			if w.chance(0.7) {
				step()
			}
		}
	}
	return moved
}

// Wait lets time pass until the controller looks again, or for a moment if there is something to do. It tells whether there is
// anything to wait for.
func (w *World) Wait(busy bool) bool {
	switch {
	case busy:
		w.pass(time.Duration(w.dice.IntN(3000)) * time.Millisecond)
	case w.Again.Never():
		return false
	case w.Again.At.After(w.Now):
		w.pass(w.Again.At.Sub(w.Now))
	}
	return true
}

// Describe is the spec in one line.
func (w *World) Describe() string {
	m := w.Manager
	return fmt.Sprintf("%d replicas, %s, minReady %v, %s after %v of %d pods, deadline %v, paused %v, %s, paces %v, current %s",
		m.DesiredReplicas(), describeStrategy(m), m.MinReady(), m.OnFailure(), m.FailureGrace(), m.MaxFailedPods(), m.ProgressDeadline(),
		m.Spec.Paused, m.Spec.PodReplacementPolicy, m.PacesScaleDown(), m.Status.CurrentRevision)
}

func describeStrategy(m *v1.PodManager) string {
	if m.Strategy() != v1.RollingUpdateStrategy {
		return string(m.Strategy())
	}
	return fmt.Sprintf("surge %d unavailable %d partition %d, %s after %v", m.MaxSurge(), m.MaxUnavailable(), m.Partition(),
		m.PodUpdatePolicy(), m.InPlaceGrace())
}

// DescribePods are the pods in one line. A pod has its index, its revision, and "!" if it is not available, "~" if it is ending, "+" if it
// has ended, "?" if it is to blame, "*" if it is marked, "|" if it is drained, "<" if its node has yet to follow a change.
func (w *World) DescribePods() string {
	var text strings.Builder
	for _, p := range w.Pods {
		fmt.Fprintf(&text, " %s:%s", strings.TrimPrefix(p.Name, w.Manager.Name+"-"), p.Labels[v1.LabelRevision])
		for i, set := range []bool{
			!w.isAvailable(p), p.DeletionTimestamp != nil, isFinished(p), w.isBlamed(p), isMarkedForDeletion(p), isDrained(p), w.kubeletIsBehind(p),
		} {
			if set {
				text.WriteByte("!~+?*|<"[i])
			}
		}
	}
	return text.String()
}
