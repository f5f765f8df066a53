package simulate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plan/status"
	"github.com/mycompany/podmanager/pkg/world"
)

// Step is what happens at one point in time, and the number of pods at that time.
type Step struct {
	Seconds float64 `json:"seconds"`
	// Old and New count the active pods of other revisions and of the new one, Leaving those that no longer count as replicas. Available counts
	// pods of all three.
	Old         int     `json:"old"`
	New         int     `json:"new"`
	Leaving     int     `json:"leaving,omitempty"`
	Available   int     `json:"available"`
	Terminating int     `json:"terminating"`
	Events      []Event `json:"events"`
}

// Event is a single event. Its action is one of the constants below, or the reason of a controller event, such as RolloutHalted.
type Event struct {
	Action string `json:"action"`
	Pod    string `json:"pod,omitempty"`
	// Why is the reason of a deletion, of a creation or of a refused eviction, the failure of a pod, the nodes of a drain, how many pods are updated and
	// available when a rollout completes, or the message of another controller event.
	Why string `json:"why,omitempty"`
	// IsOld reports whether the pod is created from, or updated to, the old revision.
	IsOld bool `json:"isOld,omitempty"`
}

// Actions: changes of a pod's own state, changes that the controller makes to pods, what a drain does, and changes of the rollout.
const (
	Begins    = "Begins"
	Available = "Available"
	Failing   = "Failing"
	Gone      = "Gone"

	Adopted  = "Adopted"
	Created  = "Created"
	Refused  = "Refused"
	Deleted  = "Deleted"
	Drained  = "Drained"
	Resized  = "Resized"
	Updated  = "UpdatedInPlace"
	Restored = "Restored"

	Cordoned  = "Cordoned"
	Evicted   = "Evicted"
	Unevicted = "EvictionRefused"
	DrainEnds = "NodesDrained"
	// DrainStops means that the drain does not get further, however long it waits.
	DrainStops = "DrainBlocked"

	// GivenUp means that failing pods have not recovered within the grace period, and the rollout stays halted.
	GivenUp = "GivenUp"
	Proven  = "Proven"
)

// recorder records steps and totals.
type recorder struct {
	began  time.Time
	steps  []Step
	totals Totals
	// seen holds the pods of the last sync.
	seen map[types.UID]podSeen
	// refused holds the names of pods that the API server has refused. Later refusals of the same name are not recorded.
	refused map[string]bool
	// refusal is the API server's answer to the first pod that it has refused.
	refusal string
}

type podSeen struct {
	name                     string
	isAvailable, isInTrouble bool
}

func newRecorder(began time.Time) *recorder {
	return &recorder{began: began, seen: map[types.UID]podSeen{}, refused: map[string]bool{}}
}

// add records events at a point in time.
func (r *recorder) add(now time.Time, events ...Event) {
	if len(events) == 0 {
		return
	}
	at := now.Sub(r.began).Seconds()
	if last := len(r.steps) - 1; last < 1 || r.steps[last].Seconds != at { // the first step is the initial state
		r.steps = append(r.steps, Step{Seconds: at})
	}
	step := &r.steps[len(r.steps)-1]
	step.Events = append(step.Events, events...)
}

// noteBefore records what has happened to pods since the last sync.
func (r *recorder) noteBefore(o plan.Observed, revisions history.Revisions) {
	isFirst := len(r.steps) == 0
	seen := make(map[types.UID]podSeen, len(o.Pods))
	var events []Event
	for _, pod := range append(o.Pods[:len(o.Pods):len(o.Pods)], o.Orphans...) {
		now := podSeen{pod.Name, isActive(pod) && health.IsAvailable(pod, o.Manager.MinReady(), o.Now), false}
		why := trouble(pod)
		now.isInTrouble = why != ""
		switch before := r.seen[pod.UID]; {
		case isFirst:
		case now.isAvailable && !before.isAvailable:
			events = append(events, Event{Action: Available, Pod: pod.Name})
		case now.isInTrouble && !before.isInTrouble && isActive(pod):
			events = append(events, Event{Action: Failing, Pod: pod.Name, Why: why})
		}
		seen[pod.UID] = now
	}
	events = append(events, r.gone(seen)...)
	r.seen = seen
	if isFirst {
		r.begin(o, revisions)
	}
	r.add(o.Now, events...)
}

// gone returns an event for each pod that has disappeared since the last sync.
func (r *recorder) gone(seen map[types.UID]podSeen) []Event {
	var names []string
	for uid, before := range r.seen {
		if _, found := seen[uid]; !found {
			names = append(names, before.name)
		}
	}
	sortNames(names)
	events := make([]Event, 0, len(names))
	for _, name := range names {
		events = append(events, Event{Action: Gone, Pod: name})
	}
	return events
}

// begin records the initial state.
func (r *recorder) begin(o plan.Observed, revisions history.Revisions) {
	step := Step{Events: []Event{{Action: Begins}}}
	for _, pod := range o.Pods {
		switch {
		case pod.DeletionTimestamp != nil:
			step.Terminating++
		case !isActive(pod):
		case revisions.HashOf(pod) == revisions.Update.Hash:
			step.New++
		default:
			step.Old++
		}
		if r.seen[pod.UID].isAvailable {
			step.Available++
		}
	}
	r.steps = append(r.steps, step)
	r.totals.LowestAvailable = step.Available
	r.count(step)
}

func isActive(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !podstate.IsFinished(pod) }

// trouble returns why a container of the pod cannot run. It is empty if all containers can.
func trouble(pod *corev1.Pod) string {
	for status := range podstate.ContainerStatuses(pod) {
		if why := podstate.ContainerTrouble(status); why != "" {
			return why
		}
	}
	return ""
}

// noteAfter records what a sync has done, and the counts after it.
func (r *recorder) noteAfter(w *world.World, decided plan.Plan, failure *requeue.Failure, before *v1.PodManagerStatus) {
	now, after := w.Now, &w.Manager.Status
	r.add(now, r.actions(decided)...)
	r.add(now, r.creations(w, decided, failure)...)
	for _, transition := range status.Transitions(w.Manager, before, after) {
		event := Event{Action: transition.Reason, Why: transition.Message}
		if event.Action == v1.EventCompleted {
			event.Why = completion(w.Manager, after)
		}
		r.add(now, event)
	}
	if !isGivenUp(before) && isGivenUp(after) {
		r.add(now, Event{Action: GivenUp})
	}
	if after.CurrentRevision == after.UpdateRevision && before.CurrentRevision != after.CurrentRevision {
		at := now.Sub(r.began).Seconds()
		r.totals.ProvenAtSeconds = &at
		r.add(now, Event{Action: Proven, Why: after.CurrentRevision})
	}
	step := Step{
		Seconds: now.Sub(r.began).Seconds(), Old: int(after.Replicas - after.UpdatedReplicas), New: int(after.UpdatedReplicas),
		Available: int(after.AvailableReplicas), Terminating: int(after.TerminatingReplicas), Leaving: int(after.LeavingReplicas),
	}
	for _, pod := range decided.Leaving { // leaving pods may be available, although the status does not count them
		if isActive(pod.Pod) && health.IsAvailable(pod.Pod, w.Manager.MinReady(), now) {
			step.Available++
		}
	}
	r.count(step)
}

// count updates the totals, and the counts of the last step if that step is at the same time.
func (r *recorder) count(now Step) {
	if last := len(r.steps) - 1; last > 0 && r.steps[last].Seconds == now.Seconds {
		now.Events = r.steps[last].Events
		r.steps[last] = now
	}
	if now.Available < r.totals.LowestAvailable {
		r.totals.LowestAvailable, r.totals.LowestAtSeconds = now.Available, now.Seconds
	}
	active := now.Old + now.New + now.Leaving
	r.totals.MostPods = max(r.totals.MostPods, active)
	r.totals.MostWithTerminating = max(r.totals.MostWithTerminating, active+now.Terminating)
}

// actions returns what a plan does to pods that exist, in the order in which the controller does it.
func (r *recorder) actions(decided plan.Plan) []Event {
	var events []Event
	for _, pod := range decided.Adopt {
		events = append(events, Event{Action: Adopted, Pod: pod.Name})
	}
	steps := map[inplace.Step]string{inplace.StepDrain: Drained, inplace.StepResize: Resized, inplace.StepUpdate: Updated, inplace.StepRestore: Restored}
	for _, update := range decided.Update {
		if steps[update.Step] == "" {
			continue
		}
		if update.Step == inplace.StepUpdate {
			r.totals.UpdatedInPlace++
		}
		events = append(events, Event{Action: steps[update.Step], Pod: update.Pod.Name, IsOld: update.To != nil && update.To.Hash != decided.Revisions.Update.Hash})
	}
	for _, deletion := range decided.Delete {
		if deletion.Why != rollout.WhyFinished {
			r.totals.Deleted++
		}
		events = append(events, Event{Action: Deleted, Pod: deletion.Pod.Name, Why: string(deletion.Why)})
	}
	return events
}

// creations returns the pods that a plan creates, or that the API server refuses. The controller does not request those after a refused one, whether
// or not the refusal was recorded before.
func (r *recorder) creations(w *world.World, decided plan.Plan, failure *requeue.Failure) (events []Event) {
	for _, creation := range decided.Create {
		name := podstate.PodName(w.Manager.Name, creation.Index)
		event := Event{Action: Created, Pod: name, IsOld: creation.Revision.Hash != decided.Revisions.Update.Hash}
		if creation.Before != nil {
			event.Why = "before " + creation.Before.Name + " leaves"
		}
		exists := slices.ContainsFunc(w.Pods, func(pod *corev1.Pod) bool { return pod.Name == name })
		switch {
		case exists:
			r.totals.Created++
			events = append(events, event)
		case failure != nil && r.refused[name]:
			return events
		case failure != nil:
			r.refused[name], event.Action, event.Why = true, Refused, withoutName(failure.Message)
			r.refusal = cmp.Or(r.refusal, failure.Message)
			return append(events, event)
		}
	}
	return events
}

// named matches the beginning of a refusal that names a pod. "is forbidden" says no more than the event, "is invalid" does.
var named = regexp.MustCompile(`^\w+ "[^"]*" is (forbidden: )?`)

// withoutName returns a refusal without the name of its pod, which the event has already.
func withoutName(refusal string) string { return named.ReplaceAllString(refusal, "") }

// completion says how a rollout completes. It may complete before all pods are available: once enough of them have been available for the bake time.
// Others may then be missing, unavailable or, with OnDelete, outdated.
func completion(manager *v1.PodManager, status *v1.PodManagerStatus) string {
	desired := manager.DesiredReplicas()
	if updated, available := int(status.UpdatedReplicas), int(status.AvailableReplicas); min(updated, available) < max(desired, int(status.Replicas)) {
		return fmt.Sprintf("the rollout completes with %d of %s updated, and %d available", updated, pods(desired), available)
	}
	return "all pods are updated and available"
}

// isGivenUp reports whether a halted rollout stays halted until the user acts.
func isGivenUp(status *v1.PodManagerStatus) bool {
	stalled := meta.FindStatusCondition(status.Conditions, v1.ConditionStalled)
	return stalled != nil && stalled.Reason == v1.ReasonHalted
}

// finish returns the steps and totals.
func (r *recorder) finish() ([]Step, Totals) {
	for _, step := range r.steps {
		for _, event := range step.Events {
			if event.Action != Proven && event.Action != Begins {
				r.totals.Seconds = step.Seconds
			}
		}
	}
	return r.steps, r.totals
}
