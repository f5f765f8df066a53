package report

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
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
