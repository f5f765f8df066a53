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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
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
	// maxPendingEvents is how many events may wait, each in a goroutine of client-go, while the API server is slow.
	maxPendingEvents = 1000
	// flushTimeout is how long writing the last events may take when the process ends.
	flushTimeout = 3 * time.Second
)

// recorder writes events, a few at a time, and writes the last ones before the process ends.
type recorder struct {
	events.EventRecorder
	// stop waits until the last events are written, and then stops the recorder.
	stop func()
}

// newRecorder starts a recorder. It outlives ctx: it writes until stop is called.
func newRecorder(ctx context.Context, api events.EventSink) (*recorder, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1.Install(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme for events: %w", err)
	}
	sink := &sink{EventSink: api, slots: make(chan struct{}, maxEventWrites)}
	broadcaster := events.NewBroadcaster(sink)
	recordingCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if err := broadcaster.StartRecordingToSinkWithContext(recordingCtx); err != nil {
		cancel()
		return nil, fmt.Errorf("starting the event recorder: %w", err)
	}
	return &recorder{
		EventRecorder: broadcaster.NewRecorder(scheme, v1.ControllerName).WithLogger(klog.FromContext(ctx)),
		stop: func() {
			sink.flush(recordingCtx)
			broadcaster.Shutdown()
			cancel()
		},
	}, nil
}

// record sends an event. It shortens the note to what the API server accepts. regarding is a PodManager or a reference to one.
func (r *recorder) record(regarding, related runtime.Object, kind, reason, action, note string) {
	if len(note) > maxNoteBytes {
		note = strings.ToValidUTF8(note[:maxNoteBytes-3], "") + "..."
	}
	r.Eventf(regarding, related, kind, reason, action, "%s", note)
}

func (r *recorder) warn(regarding, related runtime.Object, reason, action, note string) {
	r.record(regarding, related, corev1.EventTypeWarning, reason, action, note)
}

// sink writes at most maxEventWrites events at a time.
type sink struct {
	events.EventSink
	slots chan struct{}
	// pending is how many events wait for a slot or are being written.
	pending atomic.Int64
}

func (s *sink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return s.write(func() (*eventsv1.Event, error) { return s.EventSink.Create(ctx, event) })
}

func (s *sink) Patch(ctx context.Context, event *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	return s.write(func() (*eventsv1.Event, error) { return s.EventSink.Patch(ctx, event, data) })
}

// write writes an event once there is a slot. If too many events are pending, it returns an error that makes client-go drop the event.
func (s *sink) write(send func() (*eventsv1.Event, error)) (*eventsv1.Event, error) {
	defer s.pending.Add(-1)
	if s.pending.Add(1) > maxPendingEvents {
		return nil, apierrors.NewTooManyRequestsError("too many events wait to be written")
	}
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	return send()
}

// flush waits until no event has been pending for 100 ms, because the broadcaster does not report when its queue is empty.
func (s *sink) flush(ctx context.Context) {
	const enough, interval = 100 * time.Millisecond, 10 * time.Millisecond
	idle := time.Duration(0)
	_ = wait.PollUntilContextTimeout(ctx, interval, flushTimeout, false, func(context.Context) (bool, error) {
		if idle += interval; s.pending.Load() > 0 {
			idle = 0
		}
		return idle >= enough, nil
	})
}
