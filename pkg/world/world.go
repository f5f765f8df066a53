package world

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/status"
	"github.com/mycompany/podmanager/pkg/world/dice"
	"github.com/mycompany/podmanager/pkg/world/nodes"
	"github.com/mycompany/podmanager/pkg/world/users"
)

// beginning is the time at which every world begins.
var beginning = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// World is a cluster with one PodManager.
type World struct {
	*nodes.Nodes
	Manager *v1.PodManager
	// Pods are all pods of the namespace.
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
	// Again is when the last sync requested the next one.
	Again requeue.Requeue

	dice     dice.Dice
	user     *users.User
	backoffs map[requeue.BackoffKey]requeue.Backoff
	// remembered are the revisions that the last plan told the controller to remember. It is nil after a restart of the controller.
	remembered []*history.Revision
	// updateHash is the hash of the new revision, as of the last sync.
	updateHash string
	// hidden has, for each pod, the state that the API server does not show.
	hidden map[types.UID]*hiddenState
	// templateByHash has the templates that pods were created from.
	templateByHash map[string]*corev1.PodTemplateSpec
	// mishapRate scales how often mishaps and edits happen. With a low rate, each has time to show its effects.
	mishapRate float64
	// podCount counts all pods, for their UIDs. churn counts the creates and deletes of the controller.
	podCount, churn int
	// progressClock measures progressDeadlineSeconds.
	progressClock progressStopwatch
	// paused is how many replicas were desired when a pause began, or the highest number since.
	paused pauseState
	// lostBlames are the failures of pods that are gone and have no replacement.
	lostBlames []blame
	// baking records since when the new revision has fulfilled the conditions for a good revision.
	baking bakingWatch
	// statusUnwritten is set if the last status could not be written.
	statusUnwritten bool
	// course is the course of events in a world without randomness, or nil in a random world. updated counts the pods that got the new revision,
	// atStart the pods that existed at the start, and refusals the creates that were refused since the last pod has gone.
	course                     *Course
	updated, atStart, refusals int
	// disruption is what happens to nodes, and what the PodManager does about it. It is nil in a world whose nodes only lose their connection.
	disruption *disruption
}

// New returns a random world for a seed.
func New(seed uint64) *World {
	w := &World{
		dice: dice.New(seed), backoffs: map[requeue.BackoffKey]requeue.Backoff{}, hidden: map[types.UID]*hiddenState{},
		templateByHash: map[string]*corev1.PodTemplateSpec{},
	}
	w.Manager = &v1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid-web", Generation: 7},
		Spec:       v1.PodManagerSpec{Replicas: ptr.To[int32](0)},
	}
	oldKubelets := w.chance(0.2)
	w.mishapRate = pick(w, 0.3, 0.6, 1, 1)
	w.Nodes = nodes.New(w.dice, beginning, oldKubelets)
	w.Failed, w.Observed = w.blamePod, w.blameLate
	w.user = users.New(w.dice, w.logf)
	w.user.Create(w.Manager)
	if w.chance(0.8) {
		w.addPast()
	}
	return w
}

// storeTemplate stores a template as the controller would, and returns its revision.
func (w *World) storeTemplate(template *corev1.PodTemplateSpec) *history.Revision {
	old := w.Manager.DeepCopy()
	old.Spec.Template = template
	old.Status.CurrentRevision = "another" // so that the plan stores a second revision, too
	decided := plan.Make(plan.Observed{
		Manager: old, Revisions: w.Revisions, Now: w.Now, PodNamed: func(string) *corev1.Pod { return nil },
	})
	w.putRevisions(decided.Store)
	return decided.Revisions.Update
}

// addPast gives the PodManager a past: pods of several revisions in all states.
func (w *World) addPast() {
	revisions := w.addRevisions()
	if current := revisions[w.dice.IntN(len(revisions))]; w.chance(0.8) && w.canRun(current.Template()) {
		w.Manager.Status.CurrentRevision = current.Name
	}
	for index := range int(w.user.Size()) {
		p := w.addPod(plan.NewPod(w.Manager, plan.Creation{Index: index, Revision: revisions[w.dice.IntN(len(revisions))]}))
		p.CreationTimestamp = metav1.NewTime(beginning.Add(-time.Duration(w.dice.IntN(7200)) * time.Second))
		if w.chance(0.05) && w.IsGood(p.Spec.Containers[0].Image) && w.Manager.Status.CurrentRevision != "" {
			delete(p.Labels, v1.LabelRevision) // adopted
			w.hidden[p.UID].byHand = true
		}
		if w.chance(0.05) {
			p.OwnerReferences = nil
		}
		if index%4 == 0 { // an earlier version of the controller has created it
			delete(p.Annotations, podstate.AnnotationSafeToEvict)
		}
		w.age(p)
	}
}

// addRevisions stores up to three revisions, possibly including the one of the current template.
func (w *World) addRevisions() (revisions []*history.Revision) {
	for number := range 1 + w.dice.IntN(3) {
		template := w.Manager.Spec.Template
		if number > 0 || w.chance(0.5) {
			template = w.user.Template(w.Manager)
		}
		revision := w.storeTemplate(template)
		if !slices.ContainsFunc(revisions, func(r *history.Revision) bool { return r.Hash == revision.Hash }) {
			w.user.Remember(template)
			w.templateByHash[revision.Hash] = template
			revisions = append(revisions, revision)
		}
	}
	return revisions
}

// age makes a random number of steps happen to a pod, and sometimes a mishap.
func (w *World) age(p *corev1.Pod) {
	for range w.dice.IntN(5) {
		if step := w.nextStep(p); step != nil && p.DeletionTimestamp == nil {
			step()
		}
	}
	if w.chance(0.2) {
		w.mishap(p)
	}
	w.Now = w.Now.Add(time.Duration(w.dice.IntN(10)) * time.Second)
}

func (w *World) chance(p float64) bool { return w.dice.Chance(p) }

// fails decides at random whether a request fails. Nothing fails in calm.
func (w *World) fails(p float64) bool { return !w.Calm && w.chance(p) }

func pick[T any](w *World, choices ...T) T { return dice.Pick(w.dice, choices...) }

// now returns the time as the API server and the controller write it.
func (w *World) now() metav1.Time { return metav1.NewTime(w.Now.Truncate(time.Second)) }

func (w *World) logf(format string, args ...any) {
	if w.Tell != nil {
		w.Tell(format, args...)
	}
}

// Observe returns what the controller sees.
func (w *World) Observe() plan.Observed {
	o := plan.Observed{Manager: w.Manager, Revisions: w.Revisions, Backoffs: w.backoffs, Remembered: w.remembered, Now: w.Now}
	o.Capabilities.CanResizeAndDrain = true
	named := make(map[string]*corev1.Pod, len(w.Pods))
	for _, p := range w.Pods {
		named[p.Name] = p
		if metav1.IsControlledBy(p, w.Manager) {
			o.Pods = append(o.Pods, p)
		} else if p.Labels[v1.LabelManager] == w.Manager.Name {
			o.Orphans = append(o.Orphans, p)
		}
	}
	o.PodNamed = func(name string) *corev1.Pod { return named[name] }
	if w.disruption != nil && w.Manager.NeedsNodes() {
		o.NodeOf = w.nodeOf
	}
	return o
}

// Sync does the same as a sync of the controller. It reports whether the plan was not empty or the status changed.
func (w *World) Sync() (busy bool) {
	decided := plan.Make(w.Observe())
	w.noteLeaving(decided)
	_, changed := w.Report(decided, w.Apply(decided))
	return changed || !decided.Empty()
}

// Report writes the status after a plan and its failure, unless the API server fails. It returns the status, and whether it has changed.
func (w *World) Report(decided plan.Plan, failure *requeue.Failure) (told v1.PodManagerStatus, changed bool) {
	report := decided.Report(w.Manager, w.Observe().Pods, !decided.Empty(), w.Now)
	report.Failure = failure
	told, again := status.Compute(report)
	w.Again = decided.Again.Sooner(again)
	for i := range told.Conditions { // the API server stores whole seconds
		told.Conditions[i].LastTransitionTime.Time = told.Conditions[i].LastTransitionTime.Truncate(time.Second)
	}
	changed = status.Differs(&w.Manager.Status, &told)
	w.statusUnwritten = changed && w.fails(0.2)
	if w.statusUnwritten {
		w.logf("  status not written")
		return told, changed
	}
	if changed {
		w.Manager = w.Manager.DeepCopy()
		w.Manager.Status = *told.DeepCopy()
		w.logf("  status %s, current %s, failed %s", describeConditions(&told), told.CurrentRevision, told.FailedRevision)
	}
	w.noteRecoveries()
	w.noteProgress()
	w.paused.note(w)
	return told, changed
}

func describeConditions(status *v1.PodManagerStatus) string {
	ready := meta.FindStatusCondition(status.Conditions, v1.ConditionReady)
	if ready == nil {
		return "none"
	}
	text := string(ready.Status) + " " + ready.Reason + ": " + ready.Message
	if stalled := meta.FindStatusCondition(status.Conditions, v1.ConditionStalled); stalled != nil {
		text += ", stalled " + stalled.Reason
	}
	return text
}
