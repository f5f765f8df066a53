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
	// maxNamesInEvent limits the number of pod names in the note of an event. maxNoteBytes limits its length, because the API server rejects
	// longer notes.
	maxNamesInEvent = 10
	maxNoteBytes    = 1024
	// maxEventWrites is how many events are written at the same time. It is low because pod requests are more important than events.
	maxEventWrites = 2
	// flushTimeout is how long writing the last events may take when the process ends.
	flushTimeout = 3 * time.Second
)

// recorder writes events, a few at a time, and writes the last ones before the process ends.
type recorder struct {
	events.EventRecorder
	broadcaster events.EventBroadcaster
	sink        *sink
	// stop waits until the last events are written, and then stops the recorder.
	stop func()
}

func newRecorder(ctx context.Context, client kubernetes.Interface) (*recorder, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1.Install(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme for events: %w", err)
	}
	sink := &sink{EventSink: &events.EventSinkImpl{Interface: client.EventsV1()}, slots: make(chan struct{}, maxEventWrites)}
	broadcaster := events.NewBroadcaster(sink)
	return &recorder{
		EventRecorder: broadcaster.NewRecorder(scheme, v1.ControllerName).WithLogger(klog.FromContext(ctx)),
		broadcaster:   broadcaster,
		sink:          sink,
		stop:          broadcaster.Shutdown,
	}, nil
}

// start starts writing events. The recorder outlives ctx: it writes until stop is called.
func (r *recorder) start(ctx context.Context) error {
	recordingCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if err := r.broadcaster.StartRecordingToSinkWithContext(recordingCtx); err != nil {
		cancel()
		return fmt.Errorf("starting the event recorder: %w", err)
	}
	r.stop = func() {
		r.sink.flush(recordingCtx)
		r.broadcaster.Shutdown()
		cancel()
	}
	return nil
}

// record sends an event. It shortens the note to what the API server accepts. regarding is a PodManager or a reference to one.
func (r *recorder) record(regarding, related runtime.Object, kind, reason, action, note string) {
	if len(note) > maxNoteBytes {
		note = strings.ToValidUTF8(note[:maxNoteBytes-3], "") + "..."
	}
	r.sink.used.Store(true)
	r.Eventf(regarding, related, kind, reason, action, "%s", note)
}

func (r *recorder) warn(regarding, related runtime.Object, reason, action, note string) {
	r.record(regarding, related, corev1.EventTypeWarning, reason, action, note)
}

// sink writes at most maxEventWrites events at a time.
type sink struct {
	events.EventSink
	slots chan struct{}
	// pending is how many events wait for a slot or are being written. used means that there has been an event.
	pending atomic.Int64
	used    atomic.Bool
}

func (s *sink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	defer s.acquireSlot()()
	return s.EventSink.Create(ctx, event)
}

func (s *sink) Patch(ctx context.Context, event *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	defer s.acquireSlot()()
	return s.EventSink.Patch(ctx, event, data)
}

func (s *sink) acquireSlot() (release func()) {
	s.pending.Add(1)
	s.slots <- struct{}{}
	return func() {
		<-s.slots
		s.pending.Add(-1)
	}
}

// flush waits until no event has been pending for 100 ms, because the broadcaster does not report when its queue is empty.
func (s *sink) flush(ctx context.Context) {
	if !s.used.Load() {
		return
	}
	const enough, interval = 100 * time.Millisecond, 10 * time.Millisecond
	idle := time.Duration(0)
	_ = wait.PollUntilContextTimeout(ctx, interval, flushTimeout, false, func(context.Context) (bool, error) {
		if idle += interval; s.pending.Load() > 0 {
			idle = 0
		}
		return idle >= enough, nil
	})
}
