package world

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/world/users"
)

// Step lets time pass, makes something happen, and syncs.
func (w *World) Step() {
	w.Pass()
	w.Happen()
	w.Sync()
}

// Pass lets time pass without any event, usually at most until the requeue that the controller has requested.
func (w *World) Pass() {
	wait := pick(w, 0, 300*time.Millisecond, time.Second, 10*time.Second, 30*time.Second, time.Minute) * time.Duration(w.dice.IntN(4))
	if until := w.Again.At.Sub(w.Now); !w.Again.Never() && until < wait && w.chance(0.8) {
		wait = max(0, until)
	}
	w.pass(wait)
}

// pass lets this much time pass. The progress clock of a rollout runs while fewer updated pods are available than desired, and an updated pod is
// unavailable. It also runs while the status is not written, because the controller could not record that the clock has stopped.
func (w *World) pass(wait time.Duration) {
	if w.progressClock.revision != w.updateHash {
		w.progressClock = progressStopwatch{revision: w.updateHash}
	}
	available, _, isMissing := w.countUpdated()
	if w.statusUnwritten || !w.Manager.Spec.Paused && isMissing && available < w.desiredUpdated() {
		w.progressClock.elapsed += wait
	}
	w.Now = w.Now.Add(wait)
	w.ReportStartup(w.Pods)
}

// noteProgress restarts the progress clock if the controller may have seen more updated pods available than ever before, or has seen no pod that it
// waits for, or a changed minReadySeconds. A pod that the controller may believe to be available restarts the clock at once, and not again when the
// pod is beyond doubt, because the controller's clock does not restart then.
func (w *World) noteProgress() {
	available, doubtful, isMissing := w.countUpdated()
	if isNew := w.progressClock.revision != w.updateHash || w.progressClock.minReady != w.Manager.MinReady(); isNew ||
		available+doubtful > w.progressClock.mostAvailable {
		w.progressClock = progressStopwatch{revision: w.updateHash, minReady: w.Manager.MinReady(), mostAvailable: available + doubtful}
	}
	if !isMissing {
		w.progressClock.elapsed = 0
	}
}

// Happen makes the kubelets do some of their next steps, and causes some mishaps and edits.
func (w *World) Happen() {
	eager := w.dice.Float64()
	for _, p := range slices.Clone(w.Pods) {
		if step := w.nextStep(p); step != nil && w.chance(eager) {
			step()
		}
	}
	for range w.dice.IntN(3) {
		if w.chance(0.4*w.mishapRate) && len(w.Pods) > 0 && w.mishap(w.Pods[w.dice.IntN(len(w.Pods))]) {
			w.releaseAfterCrash()
		}
	}
	switch {
	case w.chance(0.25):
		w.relapse()
	case w.chance(0.01):
		for _, p := range w.Toggle(w.Pods) {
			w.deletePod(p)
		}
	case w.chance(0.01):
		w.deleteRevision()
	case w.chance(0.007):
		w.BreakImage()
	}
	w.disrupt()
	if w.chance(0.15 * w.mishapRate) {
		w.edit(func(m *v1.PodManager) { w.user.Edit(m, w.Now) })
	}
}

// nextStep returns what happens next to a pod, or nil if nothing does.
func (w *World) nextStep(p *corev1.Pod) func() {
	switch {
	case p.DeletionTimestamp == nil:
		return w.Next(p)
	case w.IsLost(p) || w.hidden[p.UID].stuck:
		return nil
	default:
		return func() { w.removePod(p) }
	}
}

// edit simulates an edit of the PodManager by the user.
func (w *World) edit(change func(*v1.PodManager)) {
	w.Manager = w.Manager.DeepCopy()
	w.Manager.Generation++
	w.backoffs = map[requeue.BackoffKey]requeue.Backoff{} // an edit ends all backoffs
	change(w.Manager)
}

// releaseAfterCrash simulates a user who sometimes releases another template after a crash.
func (w *World) releaseAfterCrash() {
	if w.chance(0.4) {
		w.edit(w.user.Release)
	}
}

// CalmDown ends the time of trouble. Broken images stay broken, and some terminating pods stay stuck.
func (w *World) CalmDown() {
	if users.IsStuck(w.Manager) && w.chance(0.5) {
		w.edit(w.user.GiveUp)
	}
	w.logf("calm")
	w.Calm, w.churn = true, 0
	w.Reconnect()
	for _, p := range w.Pods {
		w.hidden[p.UID].stuck = w.hidden[p.UID].stuck && w.chance(0.3)
	}
}

// Settle makes the kubelets do some of their next steps, and reports whether there were any.
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
	return w.evict() || moved
}

// Wait lets time pass until the controller's requeue, or a short time if busy. It returns false if there is nothing to wait for.
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
