package simulate

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plugin/revisions"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/world"
)

// Options are what is assumed of pods.
type Options struct {
	// ReadyAfter is how long containers take from their start until they are ready, StopAfter how long they take to stop.
	ReadyAfter, StopAfter time.Duration
	// Fail are pods that crash instead, NeverReady those that never become ready.
	Fail, NeverReady Choice
}

// Report is what would happen.
type Report struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// IsNew tells that there is no such PodManager yet.
	IsNew bool `json:"isNew,omitempty"`
	// Change is what differs between the present template and the new one, Replicas how many pods are wanted, and ReplicasBefore how many were.
	Change         revisions.Difference `json:"change"`
	Replicas       int                  `json:"replicas"`
	ReplicasBefore int                  `json:"replicasBefore"`
	Assumed        Assumed              `json:"assumed"`
	// Notes are what else had to be assumed, or is worth a look.
	Notes []string `json:"notes,omitempty"`

	Steps   []Step  `json:"steps"`
	Outcome Outcome `json:"outcome"`
	// Message is Ready's message in the end.
	Message string `json:"message,omitempty"`
	Totals  Totals `json:"totals"`
}

// Assumed are the options, for programs.
type Assumed struct {
	ReadyAfterSeconds float64  `json:"podsReadyAfterSeconds"`
	StopAfterSeconds  float64  `json:"podsStopAfterSeconds"`
	Fail              []string `json:"fail,omitempty"`
	NeverReady        []string `json:"neverReady,omitempty"`
}

// Totals sum a simulation up.
type Totals struct {
	// Seconds is when the last pod was changed, became available or was gone, or the outcome was clear. ProvenAtSeconds is when the new
	// revision has proven itself; nil if it never does, or did before.
	Seconds         float64  `json:"seconds"`
	ProvenAtSeconds *float64 `json:"provenAtSeconds,omitempty"`
	// LowestAvailable is how many pods were available at the least, and LowestAtSeconds when that was so for the first time.
	LowestAvailable int     `json:"lowestAvailable"`
	LowestAtSeconds float64 `json:"lowestAtSeconds"`
	// MostPods is how many active pods there were at the most, MostWithTerminating how many with those that were terminating.
	MostPods            int `json:"mostPods"`
	MostWithTerminating int `json:"mostWithTerminating"`
	Created             int `json:"created"`
	Deleted             int `json:"deleted"`
	UpdatedInPlace      int `json:"updatedInPlace"`
}

// mostSyncs and longest bound a simulation that does not come to rest.
const (
	mostSyncs = 200_000
	longest   = 30 * 24 * time.Hour
)

// Run plays what happens when a PodManager gets the spec of wanted. live.Manager is nil if there is none yet.
func Run(live snapshot.Snapshot, wanted *v1.PodManager, o Options) (Report, error) {
	if live.Manager != nil && live.Manager.DeletionTimestamp != nil {
		return Report{}, fmt.Errorf("%s is being deleted", live.Manager.Name)
	}
	begin, notes, err := start(live, wanted, o)
	if err != nil {
		return Report{}, err
	}
	report := describe(live, begin.Manager, o)
	w := world.Begin(begin, world.Course{ReadyAfter: o.ReadyAfter, StopAfter: o.StopAfter, Fate: o.fate})
	noted := newRecorder(begin.Now)
	for range mostSyncs {
		busy := noted.sync(w)
		if !w.Elapse(busy) && !noted.sync(w) || w.Now.Sub(begin.Now) > longest {
			break
		}
	}
	report.Steps, report.Totals = noted.finish()
	report.Outcome, report.Message = outcomeOf(w.Manager)
	report.Notes = append(notes, o.unmet()...)
	return report, nil
}

// sync does what a sync of the controller does, and notes what has happened before and what the sync does. It tells whether another sync
// may find something to do although nothing happens: most changes of the status do not matter to the planner.
func (r *recorder) sync(w *world.World) (busy bool) {
	observed := w.Observe()
	decided := plan.Make(observed)
	r.noteBefore(observed, decided.Revisions)
	before := w.Manager.Status
	after, _ := w.Report(decided, w.Apply(decided))
	r.noteAfter(w, decided, &before)
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
	report.Change = revisions.Diff(manager, history.Template(&live.Manager.Spec), history.Template(&manager.Spec), "the present template", "the new template")
	return report
}

// unmet are notes about pods that were to fail and could not.
func (o Options) unmet() []string {
	var notes []string
	for _, name := range append(o.Fail.unmet(), o.NeverReady.unmet()...) {
		notes = append(notes, name+" never gets the new revision, so it does not fail")
	}
	return notes
}

func sameSpec(a, b *v1.PodManager) bool { return equality.Semantic.DeepEqual(a.Spec, b.Spec) }
