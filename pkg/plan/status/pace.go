package status

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

const (
	// statusInterval is how often the status is written while only the counts change: 1000 pods that become ready one
	// by one are not worth 1000 writes. If the API server is busy, the interval grows to congestionFactor times the
	// congestion, at most to maxStatusInterval.
	statusInterval, maxStatusInterval = time.Second, 3 * time.Second
	congestionFactor                  = 50
	// statusSettle is how long to wait after pods were created, deleted or updated: often they are ready, or gone, by then.
	statusSettle = 250 * time.Millisecond
	// firstStatus is how long to wait for a new object to become Ready before its first status is written. While the API
	// server is busy, so are the kubelets and the scheduler: the wait grows up to maxFirstStatus.
	firstStatus, maxFirstStatus = time.Second, 15 * time.Second
	// lateStatus is how long a status may wait for a turn. Whose turn it is, is left to chance, and would not come for long for some.
	lateStatus = 3 * time.Second
)

// Pace keeps the status from being written too often.
type Pace struct {
	// written is when the status was last written, pending since when there has been something to write.
	written, pending time.Time
	// settling is until when to wait for pods that were just created, deleted or updated.
	settling time.Time
}

// Wait is how long to put off a status write, so that changes of many pods within a moment take one write; zero means to write now. A
// user's change and a failure are reported at once. A new object shows anyway that the controller has not observed it yet: its first
// status waits until the object is Ready or Stalled, within firstStatus. acted tells that this sync created, deleted or updated pods;
// congestion is how much longer than at best the API server takes for a write at the moment.
func (p *Pace) Wait(old, status *v1.PodManagerStatus, acted bool, failure *requeue.Failure, congestion time.Duration, now time.Time) time.Duration {
	isNew := old.ObservedGeneration < 1
	firstIsDue := isNew && (meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady) ||
		meta.IsStatusConditionTrue(status.Conditions, v1.ConditionStalled))
	if p.pending.IsZero() {
		p.pending = now
	}
	if acted {
		p.settling = now.Add(statusSettle)
	}
	latest := p.pending.Add(max(statusInterval, min(congestionFactor*congestion, maxStatusInterval)))
	wait := p.settling.Sub(now)
	switch {
	case isNew:
		limit := firstStatus
		if status.ReadyReplicas < status.Replicas { // kubelets are as busy as the API server
			limit = max(firstStatus, min(congestionFactor*congestion, maxFirstStatus))
		}
		latest = p.pending.Add(limit)
		wait = latest.Sub(now)
	case wait <= 0 && !isNews(old, status):
		wait = p.written.Add(latest.Sub(p.pending)).Sub(now)
	}
	if wait = min(wait, latest.Sub(now)); firstIsDue || IsUrgent(old, status, failure) || wait <= 0 {
		p.written, p.pending = now, time.Time{}
		return 0
	}
	return wait
}

// IsLate reports whether there has been something to write for so long that this status comes before those of other PodManagers.
func (p *Pace) IsLate(now time.Time) bool {
	if p.pending.IsZero() {
		p.pending = now
	}
	return now.Sub(p.pending) >= lateStatus
}

// IsUrgent tells whether a status is an answer to a user's change, or tells a failure: then it comes before those of other PodManagers.
func IsUrgent(old, status *v1.PodManagerStatus, failure *requeue.Failure) bool {
	isAnswer := old.ObservedGeneration >= 1 && old.ObservedGeneration != status.ObservedGeneration
	return isAnswer || old.FailedRevision != status.FailedRevision || failure != nil
}

// isNews tells whether more than counts and messages has changed, so that users should not have to wait for it.
func isNews(old, status *v1.PodManagerStatus) bool {
	if len(old.Conditions) != len(status.Conditions) || old.UpdateRevision != status.UpdateRevision ||
		old.CurrentRevision != status.CurrentRevision || old.FailedRevision != status.FailedRevision {
		return true
	}
	for _, condition := range status.Conditions {
		before := meta.FindStatusCondition(old.Conditions, condition.Type)
		// Available becoming True is not news by itself: Ready, which needs all pods, often follows at once.
		isPartial := condition.Type == v1.ConditionAvailable && condition.Status == metav1.ConditionTrue
		if before == nil || before.Status != condition.Status && !isPartial {
			return true
		}
	}
	return false
}
