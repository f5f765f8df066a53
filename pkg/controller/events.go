package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

const (
	// maxNamesInEvent bounds the names in an event's note, maxNote its length in bytes: the API server refuses longer ones.
	maxNamesInEvent = 10
	maxNote         = 1024
	// maxEventsAtOnce is how many events are written at the same time: they make way for pods.
	maxEventsAtOnce = 2
	// flushTimeout is how long the events of the last syncs have to be written when the process ends.
	flushTimeout = 3 * time.Second
)

// recorder writes events, a few at a time, and to the last one.
type recorder struct {
	events.EventRecorder
	broadcaster events.EventBroadcaster
	sink        *sink
	// stop ends the recording, once the last events are written.
	stop func()
}

func newRecorder(ctx context.Context, client kubernetes.Interface) (*recorder, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1.Install(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme for events: %w", err)
	}
	sink := &sink{EventSink: &events.EventSinkImpl{Interface: client.EventsV1()}, slots: make(chan struct{}, maxEventsAtOnce)}
	broadcaster := events.NewBroadcaster(sink)
	return &recorder{
		EventRecorder: broadcaster.NewRecorder(scheme, v1.ControllerName).WithLogger(klog.FromContext(ctx)),
		broadcaster:   broadcaster,
		sink:          sink,
		stop:          broadcaster.Shutdown,
	}, nil
}

// start begins to write events. It goes on after the end of the context, until stop is called.
func (r *recorder) start(ctx context.Context) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if err := r.broadcaster.StartRecordingToSinkWithContext(lasting); err != nil {
		cancel()
		return fmt.Errorf("starting the event recorder: %w", err)
	}
	r.stop = func() {
		r.sink.flush(lasting)
		r.broadcaster.Shutdown()
		cancel()
	}
	return nil
}

// record writes an event, in as many words as the API server takes.
func (r *recorder) record(manager *v1.PodManager, related runtime.Object, kind, reason, action, note string) {
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
	}
	r.sink.expected.Store(true)
	r.Eventf(manager, related, kind, reason, action, "%s", note)
}

func (r *recorder) warn(manager *v1.PodManager, related runtime.Object, reason, action, note string) {
	r.record(manager, related, corev1.EventTypeWarning, reason, action, note)
}

// sink lets a few events through at a time.
type sink struct {
	events.EventSink
	slots chan struct{}
	// waiting is how many are on their way; expected tells that there ever were any.
	waiting  atomic.Int64
	expected atomic.Bool
}

func (s *sink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	defer s.enter()()
	return s.EventSink.Create(ctx, event)
}

func (s *sink) Patch(ctx context.Context, event *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	defer s.enter()()
	return s.EventSink.Patch(ctx, event, data)
}

func (s *sink) enter() (leave func()) {
	s.waiting.Add(1)
	s.slots <- struct{}{}
	return func() {
		<-s.slots
		s.waiting.Add(-1)
	}
}

// flush waits until no event has been on its way for a moment.
func (s *sink) flush(ctx context.Context) {
	if !s.expected.Load() {
		return
	}
	const moment, look = 100 * time.Millisecond, 10 * time.Millisecond
	idle := time.Duration(0)
	_ = wait.PollUntilContextTimeout(ctx, look, flushTimeout, false, func(context.Context) (bool, error) {
		if idle += look; s.waiting.Load() > 0 {
			idle = 0
		}
		return idle >= moment, nil
	})
}

// reportEvents tells what was done or failed: one event for each kind of thing, however many pods it was done to.
func (r *Reporter) reportEvents(key cache.ObjectName, decided plan.Plan, done *outcome) {
	event := func(kind, reason, action string, pods []*corev1.Pod, verb, why string) {
		if len(pods) > 0 {
			// Events about the same objects are counted as one series; the first pod keeps two batches apart.
			r.recorder.record(done.manager, pods[0], kind, reason, action, fmt.Sprintf("%s %s%s", verb, podList(pods), why))
		}
	}
	if done.collided != "" {
		r.recorder.warn(done.manager, nil, v1.EventCollision, "StoreRevision",
			fmt.Sprintf("The name %s is in use for something else: the revision gets another one", done.collided))
	}
	event(corev1.EventTypeNormal, v1.EventReleased, "Release", done.released, "Released", "")
	event(corev1.EventTypeNormal, v1.EventAdopted, "Adopt", done.adopted, "Adopted", "")
	for why, pods := range deletedByReason(decided.Delete, done.deleted) {
		event(corev1.EventTypeNormal, v1.EventDeleted, "Delete", pods, "Deleted", ": "+string(why))
	}
	r.reportDisruptions(decided.Create, done)
	event(corev1.EventTypeNormal, v1.EventCreated, "Create", done.created, "Created", "")
	event(corev1.EventTypeNormal, v1.EventDraining, "Drain", done.changed[inplace.StepDrain], "Took out of service, to be updated in place,", "")
	drained, undrained := inplace.ByDrained(done.manager, done.changed[inplace.StepUpdate])
	event(corev1.EventTypeNormal, v1.EventUpdated, "Update", drained, "Updated in place", "")
	event(corev1.EventTypeNormal, v1.EventUpdated, "Update", undrained, "Updated in place", ", without being drained: made before inPlaceGracePeriodSeconds was set")
	r.reportForeign(key, decided.Foreign, done)
	r.reportFailure(key, done)
}

// reportDisruptions tells of pods that their nodes have stopped, once they are replaced.
func (r *Reporter) reportDisruptions(creations []plan.Creation, done *outcome) {
	created := make(map[string]bool, len(done.created))
	for _, pod := range done.created {
		created[pod.Name] = true
	}
	var replaced []*corev1.Pod
	for _, creation := range creations {
		if podstate.DisruptionOf(creation.Replaces) != "" && created[podstate.PodName(done.manager.Name, creation.Index)] {
			replaced = append(replaced, creation.Replaces)
		}
	}
	if len(replaced) == 0 {
		return
	}
	more := ""
	if len(replaced) > 1 {
		more = fmt.Sprintf("; so were %d more", len(replaced)-1)
	}
	r.recorder.warn(done.manager, replaced[0], v1.EventDisrupted, "Create",
		fmt.Sprintf("Replaced %s: %s%s", podList(replaced), podstate.DisruptionOf(replaced[0]), more))
}

// reportForeign warns, once for each name, that a pod of somebody else has it.
func (r *Reporter) reportForeign(key cache.ObjectName, names []string, done *outcome) {
	memory := r.memories.of(key)
	for _, name := range names {
		if slices.Contains(memory.toldForeign, name) {
			continue
		}
		// The reference keeps events about two names from being counted as one.
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}}
		r.recorder.warn(done.manager, pod, v1.EventNameTaken, "Create",
			fmt.Sprintf("Pod %s is somebody else's: it is left alone, and another index is used", name))
	}
	memory.toldForeign = names
}

// reportFailure sends a warning when a failure is new, or another one than before.
func (r *Reporter) reportFailure(key cache.ObjectName, done *outcome) {
	memory := r.memories.of(key)
	if done.failure == nil {
		memory.told = nil
		return
	}
	if memory.told != nil && *memory.told == *done.failure {
		return
	}
	told := *done.failure
	memory.told = &told
	reason, action := v1.EventFailedCreate, "Create"
	switch told.Condition {
	case v1.ReasonFailedDelete:
		reason, action = v1.EventFailedDelete, "Delete"
	case v1.ReasonFailedInPlaceUpdate:
		reason, action = v1.EventFailedInPlaceUpdate, "Update"
	case v1.ReasonFailedStore:
		reason, action = v1.EventFailedStore, "StoreRevision"
	case v1.ReasonFailedClaim:
		reason, action = v1.EventFailedClaim, "Claim"
	case v1.ReasonFailedFinal:
		reason, action = v1.EventFailedFinal, "Finalize"
	}
	r.recorder.warn(done.manager, nil, reason, action, told.Message)
}

// reportStatusFailure sends a warning, once, when a status cannot be written: the object itself cannot tell.
func (r *Reporter) reportStatusFailure(key cache.ObjectName, manager *v1.PodManager, err error) {
	memory := r.memories.of(key)
	refused := err != nil && (requeue.Failed(v1.EventFailedStatus, err).Refused() || apierrors.IsInternalError(err))
	if refused && !memory.toldStatus {
		r.recorder.warn(manager, nil, v1.EventFailedStatus, "UpdateStatus", "The status cannot be written: "+requeue.Words(err))
	}
	memory.toldStatus = refused
}

// deletedByReason sorts the pods that were deleted by why that was planned.
func deletedByReason(planned []rollout.Deletion, deleted []*corev1.Pod) map[rollout.Why][]*corev1.Pod {
	why := make(map[string]rollout.Why, len(planned))
	for _, deletion := range planned {
		why[deletion.Pod.Name] = deletion.Why
	}
	byReason := map[rollout.Why][]*corev1.Pod{}
	for _, pod := range deleted {
		byReason[why[pod.Name]] = append(byReason[why[pod.Name]], pod)
	}
	return byReason
}

// podList is "pod web-0", or "3 pods: web-0, web-1, web-2".
func podList(pods []*corev1.Pod) string {
	if len(pods) == 1 {
		return "pod " + pods[0].Name
	}
	names := make([]string, 0, maxNamesInEvent)
	for _, pod := range pods[:min(len(pods), maxNamesInEvent)] {
		names = append(names, pod.Name)
	}
	list := fmt.Sprintf("%d pods: %s", len(pods), strings.Join(names, ", "))
	if more := len(pods) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
