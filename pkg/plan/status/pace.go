package status

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

const (
	// statusInterval is how often the status is written while only the counts move: 1000 pods that become ready one
	// by one are not worth 1000 writes. An API server that takes its time for a write is busy: it is given that many
	// times as much.
	statusInterval, statusIntervalMost = time.Second, 3 * time.Second
	statusRest                         = 50
	// statusSettle is how long to wait after pods were created or deleted: often they are ready, or gone, by then.
	statusSettle = 250 * time.Millisecond
	// statusFirst is how long a new object is given to become Ready before its first status is written; while the API server
	// is busy, so are the nodes and the scheduler.
	statusFirst, statusFirstMost = time.Second, 15 * time.Second
)

// Pace keeps the status from being written too often.
type Pace struct {
	// written is when it was last written, pending since when there has been something to write.
	written, pending time.Time
	// settling is until when the pods that were just created, deleted or changed are given time.
	settling time.Time
}

// Wait is how long writing a status can be put off, so that what happens in a moment takes one write and not one for each
// pod; zero means that it is written now. A user's change, and a failure, are answered at once; of a new object, which says
// of itself that it was not looked at, one write that tells the end of it is worth more. acted tells that this sync has done
// something to pods; latency is how long the API server takes for a write at the moment.
func (p *Pace) Wait(old, status *v1.PodManagerStatus, acted bool, failure *requeue.Failure, latency time.Duration, now time.Time) time.Duration {
	isNew := old.ObservedGeneration < 1
	urgent := old.ObservedGeneration != status.ObservedGeneration && !isNew || old.FailedRevision != status.FailedRevision ||
		failure != nil || isNew && (meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady) ||
		meta.IsStatusConditionTrue(status.Conditions, v1.ConditionStalled))
	if p.pending.IsZero() {
		p.pending = now
	}
	if acted {
		p.settling = now.Add(statusSettle)
	}
	latest := p.pending.Add(max(statusInterval, min(statusRest*latency, statusIntervalMost)))
	wait := p.settling.Sub(now)
	switch {
	case isNew:
		most := statusFirst
		if status.ReadyReplicas < status.Replicas { // busy nodes take as long as the API server does
			most = max(statusFirst, min(statusRest*latency, statusFirstMost))
		}
		latest = p.pending.Add(most)
		wait = latest.Sub(now)
	case wait <= 0 && !isNews(old, status):
		wait = p.written.Add(latest.Sub(p.pending)).Sub(now)
	}
	if wait = min(wait, latest.Sub(now)); urgent || wait <= 0 {
		p.written, p.pending = now, time.Time{}
		return 0
	}
	return wait
}

// isNews tells whether a status has more to say than other counts: nobody should have to wait for that.
func isNews(old, status *v1.PodManagerStatus) bool {
	if len(old.Conditions) != len(status.Conditions) || old.UpdateRevision != status.UpdateRevision ||
		old.CurrentRevision != status.CurrentRevision || old.FailedRevision != status.FailedRevision {
		return true
	}
	for _, condition := range status.Conditions {
		before := meta.FindStatusCondition(old.Conditions, condition.Type)
		// That enough pods are available is good, but Ready, which is about all of them, is often just about to follow.
		isPartial := condition.Type == v1.ConditionAvailable && condition.Status == metav1.ConditionTrue
		if before == nil || before.Status != condition.Status && !isPartial {
			return true
		}
	}
	return false
}
