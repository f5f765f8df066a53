package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A refused request is tried again after this long, then ever later. Each try is likely to fail.
const (
	firstHold = time.Second
	lastHold  = time.Minute
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

const (
	// gatherPerPod is how long, for each pod, the events of pods are gathered; for few pods they are not.
	gatherPerPod = 200 * time.Microsecond
	gatherFrom   = 100
	gatherAtMost = time.Second
)

// ahead is how many pods a plan has to create, for a new object to tell so before it does.
const ahead = 100

// GatherEvents is how long events of pods are gathered before they are looked at together. What a look costs grows with
// the number of pods, and so does the number of events while they start: each on its own would cost the square.
func GatherEvents(m *v1.PodManager) time.Duration {
	pods := max(m.DesiredReplicas(), int(m.Status.Replicas+m.Status.TerminatingReplicas))
	if pods < gatherFrom {
		return 0
	}
	return min(time.Duration(pods)*gatherPerPod, gatherAtMost)
}

// HoldKey is what a hold is on: requests of one kind, named by the reason that the ReplicaFailure condition gives if they fail.
// Creates are held for each revision, by its hash: another one may be let through.
type HoldKey struct{ Condition, Revision string }

func createHold(revision *Revision) HoldKey {
	return HoldKey{Condition: v1.ReasonFailedCreate, Revision: revision.Hash}
}

// Hold keeps a refused request from being repeated with every event.
type Hold struct {
	Until   time.Time
	Failure Failure
	// length is how long it lasts.
	length time.Duration
}

// Refused is the hold that follows a refusal, the longer the longer the last one was. spread, from 0 to 1, keeps the tries of
// many PodManagers apart.
func (h Hold) Refused(failure Failure, now time.Time, spread float64) Hold {
	length := max(firstHold, min(2*h.length, lastHold))
	return Hold{Until: now.Add(length + time.Duration(spread*float64(length)/4)), Failure: failure, length: length}
}

// holdOn is the hold that keeps requests of a kind from being tried now.
func (o Observed) holdOn(key HoldKey) (Hold, bool) {
	hold, found := o.Holds[key]
	return hold, found && o.Now.Before(hold.Until)
}

// StatusPace keeps the status from being written too often.
type StatusPace struct {
	// written is when it was last written, pending since when there has been something to write.
	written, pending time.Time
	// settling is until when the pods that were just created, deleted or changed are given time.
	settling time.Time
}

// TellsAhead tells whether a plan will take so long that a new object should have a status before it is carried out.
func (p Plan) TellsAhead(manager *v1.PodManager) bool {
	return manager.Status.ObservedGeneration < 1 && len(p.Create) >= ahead
}

// Wait is how long writing a status can be put off, so that what happens in a moment takes one write and not one for each
// pod; zero means that it is written now. A user's change, and a failure, are answered at once; of a new object, which says
// of itself that it was not looked at, one write that tells the end of it is worth more. acted tells that this sync has done
// something to pods; latency is how long the API server takes for a write at the moment.
func (p *StatusPace) Wait(old, status *v1.PodManagerStatus, acted bool, failure *Failure, latency time.Duration, now time.Time) time.Duration {
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
