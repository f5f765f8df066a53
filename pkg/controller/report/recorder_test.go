package report

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Events that are recorded while the process ends are written before it ends, even if the API server is busy. Long notes are shortened to
// what the API server accepts.
func TestEventsAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ctx := ktesting.NewTestContext(t)
		ctx, stop := context.WithCancel(ctx)
		kube := kubefake.NewClientset()
		kube.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(20 * time.Millisecond) // a busy API server
			return false, nil, nil
		})
		r, err := newRecorder(ctx, &events.EventSinkImpl{Interface: kube.EventsV1()})
		if err != nil {
			t.Fatal(err)
		}
		stop()
		for i := range 20 {
			manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("web-", i)}}
			r.warn(manager, nil, v1.EventFailedCreate, "Create", strings.Repeat("ä", 1000))
		}
		r.stop()
		list, err := kube.EventsV1().Events("ns").List(context.Background(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 20 {
			t.Errorf("%d of 20 events were written: %v", len(list.Items), err)
		}
		for _, event := range list.Items {
			if len(event.Note) > maxNoteBytes || len(event.Note) < maxNoteBytes-5 || !utf8.ValidString(event.Note) {
				t.Errorf("a note has %d bytes, want almost %d, in valid UTF-8", len(event.Note), maxNoteBytes)
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
