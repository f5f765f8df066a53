package world

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// Course determines, without randomness, what happens in a world.
type Course struct {
	// ReadyAfter is how long containers take from their start until they are ready, or crash instead. StopAfter is how long they take to stop,
	// within the grace period of their pod.
	ReadyAfter, StopAfter time.Duration
	// Fate returns how the containers of a pod behave once the pod gets the new revision. number counts these pods from 1.
	Fate func(pod *corev1.Pod, number int) nodes.Quality
	// Room limits where pods run, and how many there are.
	Room Room
}

// Start is the state in which a course of events begins. The world does not modify these objects.
type Start struct {
	Manager *v1.PodManager
	// Pods are the pods of the PodManager, and pods without a controller that it adopts. The same applies to Revisions.
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
	// Remembered are revisions that the controller knows without having stored them.
	Remembered []*history.Revision
	Now        time.Time
}

// Begin returns a calm world that continues from a start.
func Begin(start Start, course Course) *World {
	w := &World{
		Manager: start.Manager.DeepCopy(), course: &course, remembered: start.Remembered,
		backoffs: map[requeue.BackoffKey]requeue.Backoff{}, hidden: map[types.UID]*hiddenState{}, templateByHash: map[string]*corev1.PodTemplateSpec{},
	}
	w.podCount = 1 << 20 // UIDs that no pod of another world has
	for _, revision := range start.Revisions {
		w.Revisions = append(w.Revisions, revision.DeepCopy())
	}
	isOld := func(p *corev1.Pod) bool { return p.Status.StartTime != nil && p.Status.ObservedGeneration == 0 }
	w.Nodes = nodes.Follow(nodes.Course{
		ReadyAfter: course.ReadyAfter, StopAfter: course.StopAfter, NodeFor: w.scheduler(start.Pods), Unplaced: course.Room.Unplaced,
		Quality: func(p *corev1.Pod) nodes.Quality { return w.hidden[p.UID].quality },
	}, start.Now, slices.ContainsFunc(start.Pods, isOld))
	w.Failed, w.Observed, w.atStart = w.blamePod, w.blameLate, len(start.Pods)
	for _, p := range start.Pods {
		w.importPod(p.DeepCopy())
	}
	return w
}

// importPod adds an existing pod. If the pod is in trouble now, it stays so until it is updated in place, because it is unknown whether it would
// recover.
func (w *World) importPod(p *corev1.Pod) {
	w.Pods = append(w.Pods, p)
	hidden := &hiddenState{State: w.Import(p, Outdated(p)), byHand: p.Labels[v1.LabelRevision] == ""}
	w.hidden[p.UID] = hidden
	if hidden.updatedAt = inplace.UpdatedAt(p); !hidden.updatedAt.IsZero() {
		hidden.updates, hidden.interrupted, hidden.revisionGeneration = 1, inplace.IsInterrupted(p), p.Generation
	}
	if p.DeletionTimestamp != nil {
		hidden.stuck = len(p.Finalizers) > 0 || w.Now.After(p.DeletionTimestamp.Add(overdue))
		hidden.goneAt = p.DeletionTimestamp.Add(w.StopTime(p) - nodes.GracePeriod(p))
		return
	}
	switch {
	case isInTrouble(p):
		hidden.quality = nodes.Crashing
	case WillStayUnready(p, w.course.ReadyAfter, w.Now):
		hidden.quality = nodes.NeverReady
	default:
		openGates(p, w.now())
	}
}

// overdue is how long after its grace period a terminating pod should be gone.
const overdue = 30 * time.Second

// Outdated returns the containers that the kubelet has yet to restart for an update in place, as they still run.
func Outdated(p *corev1.Pod) map[string]corev1.Container {
	found := map[string]corev1.Container{}
	for name, before := range inplace.CompletedRecord(p).Containers {
		container := podstate.ContainerNamed(&p.Spec, name)
		if container == nil || inplace.IsRestarted(p, name, before) {
			continue
		}
		runs := *container
		if before.From != "" {
			runs.Image = before.From
		}
		if before.Had != nil {
			runs.Resources = *before.Had
		}
		found[name] = runs
	}
	return found
}

// isInTrouble reports whether something keeps a container from running.
func isInTrouble(p *corev1.Pod) bool {
	for status := range podstate.ContainerStatuses(p) {
		if podstate.ContainerTrouble(status) != "" {
			return true
		}
	}
	return false
}

// WillStayUnready reports whether a pod is assumed to stay as it is: something keeps a container from running, or the pod has had more than enough
// time to become ready. takes is how long pods take to become ready.
func WillStayUnready(p *corev1.Pod, takes time.Duration, now time.Time) bool {
	if isInTrouble(p) {
		return true
	}
	since := p.CreationTimestamp.Time
	for status := range podstate.ContainerStatuses(p) {
		if running := status.State.Running; running != nil && running.StartedAt.After(since) {
			since = running.StartedAt.Time
		}
	}
	return !nodes.IsReady(p) && !isDrained(p) && now.Sub(since) > max(2*takes, time.Minute)
}

// openGates opens the readiness gates that are not ours, in place of their controllers.
func openGates(p *corev1.Pod, now metav1.Time) {
	for _, gate := range p.Spec.ReadinessGates {
		if gate.ConditionType != v1.InPlaceReady {
			nodes.SetCondition(p, corev1.PodCondition{Type: gate.ConditionType, Status: corev1.ConditionTrue, LastTransitionTime: now})
		}
	}
}

// scheduler returns a function that chooses the node with the fewest pods, among the nodes that have pods at the start, unless the template names
// another one, or pods have to be apart.
func (w *World) scheduler(pods []*corev1.Pod) func(*corev1.Pod) string {
	if w.course.Room.Places != nil {
		return w.apart
	}
	var names []string
	for _, p := range pods {
		if p.Spec.NodeName != "" {
			names = append(names, p.Spec.NodeName)
		}
	}
	if len(names) == 0 {
		names = []string{"node"}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return func(p *corev1.Pod) string {
		count := map[string]int{}
		for _, other := range w.Pods {
			count[other.Spec.NodeName]++
		}
		emptiest := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(count[a], count[b]) })
		return cmp.Or(p.Spec.NodeName, emptiest)
	}
}

// decideFate decides how the containers of a pod behave after it was created or updated in place.
func (w *World) decideFate(p *corev1.Pod) {
	if w.course == nil {
		return
	}
	openGates(p, w.now())
	quality := nodes.Good
	if p.Labels[v1.LabelRevision] == w.updateHash {
		w.updated++
		quality = w.course.Fate(p, w.updated)
	}
	w.hidden[p.UID].quality = quality
}

// scheduleEnd decides when a terminating pod is gone.
func (w *World) scheduleEnd(p *corev1.Pod) {
	if w.course == nil {
		return
	}
	w.hidden[p.UID].goneAt = w.Now.Add(w.StopTime(p))
	p.DeletionTimestamp = &metav1.Time{Time: w.now().Add(nodes.GracePeriod(p))} // as the API server writes it
}

// due returns when the next step of a pod happens, or false if none does.
func (w *World) due(p *corev1.Pod) (time.Time, bool) {
	if p.DeletionTimestamp != nil {
		return w.hidden[p.UID].goneAt, !w.hidden[p.UID].stuck
	}
	return w.Due(p)
}

// Elapse lets time pass until something happens to a pod, or until the next sync is due, and lets everything happen that is due by then. No time
// passes if the controller is busy. It returns false if nothing will ever happen.
func (w *World) Elapse(busy bool) bool {
	next, found := w.nextEvent()
	if !busy {
		if !found {
			return false
		}
		w.pass(max(0, next.Sub(w.Now)))
	}
	for w.happenAllDue() { // a step may make another one due
	}
	return true
}

// nextEvent returns when the next event happens, or false if none does.
func (w *World) nextEvent() (next time.Time, found bool) {
	for _, p := range w.Pods {
		if at, isDue := w.due(p); isDue && (!found || at.Before(next)) {
			next, found = at, true
		}
	}
	if w.Again.Never() {
		return next, found
	}
	again := w.Again.At
	if !again.After(w.Now) { // the last sync was not busy, so another one would find the same
		again = w.Now.Add(time.Second)
	}
	if !found || again.Before(next) {
		next = again
	}
	return next, true
}

// happenAllDue lets everything happen that is due by now, and reports whether anything was.
func (w *World) happenAllDue() (happened bool) {
	for _, p := range slices.Clone(w.Pods) {
		if at, isDue := w.due(p); isDue && !at.After(w.Now) {
			w.nextStep(p)()
			happened = true
		}
	}
	return happened
}
