package report

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2/ktesting"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Events that are recorded while the process ends are written before it ends, even if the API server is busy. Long notes are shortened to
// what the API server accepts.
func TestEventsAreNotLost(t *testing.T) {
	_, ctx := ktesting.NewTestContext(t)
	ctx, stop := context.WithCancel(ctx)
	kube := kubefake.NewClientset()
	kube.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		time.Sleep(20 * time.Millisecond) // a busy API server
		return false, nil, nil
	})
	r, err := newRecorder(ctx, kube)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.start(ctx); err != nil {
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
			t.Errorf("a note of %d bytes", len(event.Note))
		}
	}
}
