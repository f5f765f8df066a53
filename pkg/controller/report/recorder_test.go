package report

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// busySink is an API server that takes 20 ms for each event.
type busySink struct {
	events.EventSink
	lock  sync.Mutex
	notes []string
}

func (s *busySink) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	time.Sleep(20 * time.Millisecond)
	s.lock.Lock()
	defer s.lock.Unlock()
	s.notes = append(s.notes, event.Note)
	return event, nil
}

// Events that are recorded while the process ends are written before it ends, even if the API server is busy. Long notes are shortened to
// what the API server accepts.
func TestEventsAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ctx := ktesting.NewTestContext(t)
		ctx, stop := context.WithCancel(ctx)
		api := &busySink{}
		r, err := newRecorder(ctx, api)
		if err != nil {
			t.Fatal(err)
		}
		stop()
		for i := range 20 {
			manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("web-", i)}}
			r.warn(manager, nil, v1.EventFailedCreate, "Create", strings.Repeat("ä", 1000))
		}
		r.stop()
		if len(api.notes) != 20 {
			t.Errorf("%d of 20 events were written", len(api.notes))
		}
		for _, note := range api.notes {
			if len(note) > maxNoteBytes || len(note) < maxNoteBytes-5 || !utf8.ValidString(note) {
				t.Errorf("a note has %d bytes, want almost %d, in valid UTF-8", len(note), maxNoteBytes)
			}
		}
	})
}

// While the API server does not write events, only a limited number of them waits.
func TestEventsThatWaitAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{EventSink: &events.EventSinkImpl{Interface: kubefake.NewClientset().EventsV1()}, slots: make(chan struct{}, 1)}
		s.slots <- struct{}{} // there is no other slot
		var refused atomic.Int32
		for range maxPendingEvents + 5 {
			go func() {
				if _, err := s.Create(t.Context(), &eventsv1.Event{}); apierrors.IsTooManyRequests(err) {
					refused.Add(1)
				}
			}()
		}
		synctest.Wait()
		if refused.Load() != 5 {
			t.Errorf("%d events were refused, want 5", refused.Load())
		}
		<-s.slots
	})
}
