package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// A refused create is tried again after this long, then ever later. Each try is a request that is likely to fail.
	firstHold = time.Second
	lastHold  = time.Minute
	// statusInterval is how often the status is written while only the counts move: 1000 pods that become ready one
	// by one are not worth 1000 writes. An API server that takes its time for a write is busy: it is given that many
	// times as much.
	statusInterval, statusIntervalMost = time.Second, 3 * time.Second
	statusRest                         = 50
	// statusSettle is how long to wait after pods were created or deleted: often they are ready, or gone, by then. If
	// that took longer, so will the rest.
	statusSettle, statusSettleMost = 250 * time.Millisecond, 2 * time.Second
	// statusFirst is how long a new object is given to become Ready before its first status is written.
	statusFirst = time.Second
	// gatherPerPod is how long, for each pod, the events of pods are gathered; for few pods they are not.
	gatherPerPod = 200 * time.Microsecond
	gatherFrom   = 100
	gatherAtMost = time.Second
)

// GatherEvents is how long events of pods are gathered before they are looked at together. What a look costs grows with
// the number of pods, and so does the number of events while they start: each on its own would cost the square.
func GatherEvents(m *v1.PodManager) time.Duration {
	pods := max(m.DesiredReplicas(), int(m.Status.Replicas+m.Status.TerminatingReplicas))
	if pods < gatherFrom {
		return 0
	}
	return min(time.Duration(pods)*gatherPerPod, gatherAtMost)
}

// Hold keeps a refused create from being repeated with every event.
type Hold struct {
	Until   time.Time
	Failure Failure
	// length is how long it lasts.
	length time.Duration
}

// Refused is the hold that follows a refusal, the longer the longer the last one was.
func (h Hold) Refused(failure Failure, now time.Time) Hold {
	length := max(firstHold, min(2*h.length, lastHold))
	return Hold{Until: now.Add(length), Failure: failure, length: length}
}

// StatusPace keeps the status from being written too often.
type StatusPace struct {
	// Took is how long the last write took.
	Took time.Duration
	// written is when it was last written.
	written time.Time
	// settling is until when the pods that were just created, deleted or changed are given time.
	settling time.Time
}

// Wait is how long writing a status can be put off, so that what happens in a moment takes one write and not one for each
// pod; zero means that it is written now. A user's change, and a failure, are answered at once; of a new object, which says
// of itself that it was not looked at, one write that tells the end of it is worth more. acted is how long this sync has been
// doing something to pods, zero if it has not.
func (p *StatusPace) Wait(old, status *v1.PodManagerStatus, acted time.Duration, failure *Failure, now time.Time) time.Duration {
	isNew := old.ObservedGeneration < 1
	urgent := old.ObservedGeneration != status.ObservedGeneration && !isNew || old.FailedRevision != status.FailedRevision ||
		failure != nil || isNew && meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady)
	if acted > 0 && !urgent {
		settle := statusSettle
		if isNew {
			settle = statusFirst
		}
		p.settling = now.Add(max(settle, min(acted, statusSettleMost)))
	}
	wait := p.settling.Sub(now)
	if wait <= 0 && !isNews(old, status) {
		wait = p.written.Add(max(statusInterval, min(statusRest*p.Took, statusIntervalMost))).Sub(now)
	}
	if urgent || wait <= 0 {
		p.written = now
		return 0
	}
	return wait
}
