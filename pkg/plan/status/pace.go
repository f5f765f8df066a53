package status

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// statusInterval is how often the status is written while only counts and messages change: 1000 pods that become ready one by one are not worth
// 1000 writes. It is longer than most pods take to start, so that a new object often needs only one status write.
const statusInterval = 3 * time.Second

// Pace limits how often the status is written.
type Pace struct {
	// written is when the status was last written, or when the object was found to have none.
	written time.Time
}

// Wait returns how long to delay a status write; zero means to write now. Changes that users wait for are not delayed. A new object already shows
// that the controller has not observed it yet, so its first status waits until the object is Ready or Stalled, but at most statusInterval.
func (p *Pace) Wait(old, status *v1.PodManagerStatus, failure *requeue.Failure, now time.Time) time.Duration {
	if isNew(old) && p.written.IsZero() {
		p.written = now
	}
	since := now.Sub(p.written)
	if failure != nil || isNews(old, status) || since < 0 || since >= statusInterval {
		return 0
	}
	return statusInterval - since
}

// Wrote records that the status was written.
func (p *Pace) Wrote(now time.Time) { p.written = now }

// isNew reports whether an object has no status yet.
func isNew(old *v1.PodManagerStatus) bool { return old.ObservedGeneration < 1 }

// isNews reports whether users wait for the change: it responds to an edit of the spec, it reports a different problem, or everything is done.
func isNews(old, status *v1.PodManagerStatus) bool {
	isReady := meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady)
	switch {
	case isNew(old):
		return isReady || meta.IsStatusConditionTrue(status.Conditions, v1.ConditionStalled)
	case old.ObservedGeneration != status.ObservedGeneration, len(old.Conditions) != len(status.Conditions), old.UpdateRevision != status.UpdateRevision,
		old.CurrentRevision != status.CurrentRevision, old.FailedRevision != status.FailedRevision,
		isReady && status.TerminatingReplicas == 0 && old.TerminatingReplicas > 0: // the last pod is gone
		return true
	}
	for _, condition := range status.Conditions {
		before := meta.FindStatusCondition(old.Conditions, condition.Type)
		// Available becoming True is not news: Ready, which needs all pods, often follows at once.
		isPartial := condition.Type == v1.ConditionAvailable && condition.Status == metav1.ConditionTrue
		if before == nil || before.Status != condition.Status && !isPartial || before.Reason != condition.Reason && condition.Type == v1.ConditionReady {
			return true
		}
	}
	return false
}
