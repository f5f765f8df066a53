package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plugin/revisions"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/surge"
	"github.com/mycompany/podmanager/pkg/world"
)

// Options are the assumptions about pods.
type Options struct {
	// ReadyAfter is the time that containers need from their start until they are ready. StopAfter is the time that they need to stop.
	ReadyAfter, StopAfter time.Duration
	// Fail selects the pods that crash, NeverReady the pods that never become ready.
	Fail, NeverReady Choice
	// Drain is the drain to simulate. Without nodes, no drain is simulated.
	Drain Drain
	// Room is the room for a surge pod.
	Room surge.Room
}

// Report is the result of a simulation.
type Report struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// IsNew is true if the PodManager does not exist yet.
	IsNew bool `json:"isNew,omitempty"`
	// Change is the difference between the current template and the new one. Replicas is the desired number of pods, ReplicasBefore the number
	// desired before the change.
	Change         revisions.Difference `json:"change"`
	Replicas       int                  `json:"replicas"`
	ReplicasBefore int                  `json:"replicasBefore"`
	Assumed        Assumed              `json:"assumed"`
	// Notes are further assumptions, and anything else that the user should look at.
	Notes []string `json:"notes,omitempty"`

	Steps   []Step  `json:"steps"`
	Outcome Outcome `json:"outcome"`
	// Message is the message of the condition that decides the outcome.
	Message string `json:"message,omitempty"`
	Totals  Totals `json:"totals"`
	// Drain is how the drain of nodes ends. It is nil if none was asked for.
	Drain *DrainReport `json:"drain,omitempty"`
}

// Assumed holds the options in a form for scripts.
type Assumed struct {
	ReadyAfterSeconds float64  `json:"podsReadyAfterSeconds"`
	StopAfterSeconds  float64  `json:"podsStopAfterSeconds"`
	Fail              []string `json:"fail,omitempty"`
	NeverReady        []string `json:"neverReady,omitempty"`
}

// Totals summarize a simulation.
type Totals struct {
	// Seconds is the time of the last event other than Proven: a pod is changed, becomes available or disappears, or the rollout changes.
	// ProvenAtSeconds is the time at which the new revision has proven itself. It is nil if that never happens, or has happened before.
	Seconds         float64  `json:"seconds"`
	ProvenAtSeconds *float64 `json:"provenAtSeconds,omitempty"`
	// LowestAvailable is the lowest number of available pods, LowestAtSeconds the first time at which it was reached.
	LowestAvailable int     `json:"lowestAvailable"`
	LowestAtSeconds float64 `json:"lowestAtSeconds"`
	// MostPods is the highest number of active pods, leaving pods included, MostWithTerminating the highest number including terminating pods.
	MostPods            int `json:"mostPods"`
	MostWithTerminating int `json:"mostWithTerminating"`
	Created             int `json:"created"`
	Deleted             int `json:"deleted"`
	UpdatedInPlace      int `json:"updatedInPlace"`
}

// mostSyncs and longest limit a simulation that does not come to rest.
const (
	mostSyncs = 200_000
	longest   = 30 * 24 * time.Hour
)

// Run simulates what happens when a PodManager gets the spec of wanted. live.Manager is nil if the PodManager does not exist yet.
func Run(live snapshot.Snapshot, wanted *v1.PodManager, o Options) (Report, error) {
	if live.Manager != nil && live.Manager.DeletionTimestamp != nil {
		return Report{}, fmt.Errorf("%s is being deleted", live.Manager.Name)
	}
	begin, notes, err := start(live, wanted, o)
	if err != nil {
		return Report{}, err
	}
	if err := cmp.Or(o.Fail.check(wanted.Name, begin.Pods), o.NeverReady.check(wanted.Name, begin.Pods)); err != nil {
		return Report{}, err
	}
	drain, err := newDrainer(live, begin, o.Drain)
	if err != nil {
		return Report{}, err
	}
	report := describe(live, begin.Manager, o)
	room, unknown := o.roomFor(begin.Manager, drain)
	drain.isApart = room.Places != nil
	w := world.Begin(begin, world.Course{ReadyAfter: o.ReadyAfter, StopAfter: o.StopAfter, Fate: drain.fate(o), Room: room})
	noted := newRecorder(begin.Now)
	for range mostSyncs {
		busy := noted.sync(w, drain)
		if !w.Elapse(busy) && !noted.sync(w, drain) || w.Now.Sub(begin.Now) > longest {
			break
		}
	}
	report.Steps, report.Totals = noted.finish()
	report.Outcome, report.Message = outcomeOf(w.Manager, o, noted.refusal)
	if report.Drain = drain.finish(w); report.Drain != nil && report.Drain.BlockedBy != "" {
		report.stopAt(*report.Drain)
	}
	report.Notes = slices.Concat(notes, drain.notes(begin.Pods), unknown, o.unmet(), tooOld(begin.Manager, w))
	return report, nil
}

// sync simulates one sync of the controller, and records what happened before it and what it does. It reports whether another sync may have
// something to do even if nothing else happens. Most status changes do not affect the planner. If pods are evicted, the controller sees that in its
// next sync.
func (r *recorder) sync(w *world.World, drain *drainer) (busy bool) {
	keepAge(w.Manager)
	observed := w.Observe()
	observed.NodeOf = drain.nodeOf
	decided := plan.Make(observed)
	r.noteBefore(observed, decided.Revisions)
	drain.noteEnd(observed, r)
	evicted, again := drain.evict(w, decided, r)
	if evicted {
		return true
	}
	before := w.Manager.Status
	failure := w.Apply(decided)
	after, _ := w.Report(decided, failure)
	drain.schedule(w)
	w.Again = w.Again.Sooner(again)
	r.noteAfter(w, decided, failure, &before)
	return !decided.Empty() || before.CurrentRevision != after.CurrentRevision || before.FailedRevision != after.FailedRevision
}

func describe(live snapshot.Snapshot, manager *v1.PodManager, o Options) Report {
	report := Report{
		Name: manager.Name, Namespace: manager.Namespace, IsNew: live.Manager == nil, Replicas: manager.DesiredReplicas(),
		Assumed: Assumed{o.ReadyAfter.Seconds(), o.StopAfter.Seconds(), o.Fail.words(), o.NeverReady.words()},
	}
	if live.Manager == nil {
		report.Change.Fields = []revisions.Change{}
		return report
	}
	report.ReplicasBefore = live.Manager.DesiredReplicas()
	report.Change = revisions.Wanted(live, manager, "the new template")
	return report
}

// unmet returns a note for each pod that was to fail and never got the new revision.
func (o Options) unmet() []string {
	var notes []string
	for _, name := range append(o.Fail.unmet(), o.NeverReady.unmet()...) {
		notes = append(notes, name+" never gets the new revision, so it does not fail")
	}
	return notes
}

func sameSpec(a, b *v1.PodManager) bool { return equality.Semantic.DeepEqual(a.Spec, b.Spec) }
