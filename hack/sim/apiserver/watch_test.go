package apiserver_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// events returns the events of a watch so far as text, such as "ADDED a 2". A bookmark that ends the initial events has an exclamation mark at the
// end.
func events(w watch.Interface) []string {
	synctest.Wait()
	var seen []string
	for {
		select {
		case event, more := <-w.ResultChan():
			if !more {
				return append(seen, "END")
			}
			seen = append(seen, describe(event))
			synctest.Wait()
		default:
			return seen
		}
	}
}

func describe(event watch.Event) string {
	if status, isStatus := event.Object.(*metav1.Status); isStatus {
		return fmt.Sprintf("%s %d %s", event.Type, status.Code, status.Message)
	}
	pod := event.Object.(*corev1.Pod)
	text := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", event.Type, pod.Name, pod.ResourceVersion)), " ")
	if pod.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
		text += "!"
	}
	return text
}

// history makes pods a and b, labels b, and removes the label again: versions 2 to 5. It deletes a: versions 6 and 7.
func history(ctx context.Context, t *testing.T, s sim) {
	t.Helper()
	must(s.pods().Create(ctx, newPod("a", "app", "web"), create))
	must(s.pods().Create(ctx, newPod("b"), create))
	for _, value := range []string{`"web"`, "null"} {
		must(s.pods().Patch(ctx, "b", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":`+value+`}}}`), patch))
	}
	if err := s.pods().Delete(ctx, "a", remove); err != nil {
		t.Fatal(err)
	}
}

func TestWatch(t *testing.T) {
	const notOlder = metav1.ResourceVersionMatchNotOlderThan
	yes, no := ptr.To(true), ptr.To(false)
	tests := map[string]struct {
		options metav1.ListOptions
		// seen is sent at once; later is sent while history runs.
		seen, later []string
	}{
		"everything": {metav1.ListOptions{}, []string{"ADDED old 2"},
			[]string{"ADDED a 3", "ADDED b 4", "MODIFIED b 5", "MODIFIED b 6", "MODIFIED a 7", "DELETED a 8"}},
		"from any version": {metav1.ListOptions{ResourceVersion: "0"}, []string{"ADDED old 2"},
			[]string{"ADDED a 3", "ADDED b 4", "MODIFIED b 5", "MODIFIED b 6", "MODIFIED a 7", "DELETED a 8"}},
		"from a version on": {metav1.ListOptions{ResourceVersion: "1", FieldSelector: "metadata.name=old"}, []string{"ADDED old 2"}, nil},
		"from now on":       {metav1.ListOptions{ResourceVersion: "2", FieldSelector: "metadata.name=a"}, nil, []string{"ADDED a 3", "MODIFIED a 7", "DELETED a 8"}},
		"from later on":     {metav1.ListOptions{ResourceVersion: "6"}, nil, []string{"MODIFIED a 7", "DELETED a 8"}},
		"a selector": {metav1.ListOptions{ResourceVersion: "2", LabelSelector: "app=web"}, nil,
			[]string{"ADDED a 3", "ADDED b 5", "DELETED b 6", "MODIFIED a 7", "DELETED a 8"}},
		"initial events": {metav1.ListOptions{SendInitialEvents: yes, ResourceVersionMatch: notOlder, AllowWatchBookmarks: true, LabelSelector: "app"},
			[]string{"BOOKMARK 2!"}, []string{"ADDED a 3", "ADDED b 5", "DELETED b 6", "MODIFIED a 7", "DELETED a 8"}},
		"no initial events": {metav1.ListOptions{SendInitialEvents: no, ResourceVersionMatch: notOlder, FieldSelector: "spec.nodeName=,metadata.name=a"}, nil,
			[]string{"ADDED a 3", "MODIFIED a 7", "DELETED a 8"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, nil, func(t *testing.T, s sim) {
				ctx := t.Context()
				must(s.pods().Create(ctx, newPod("old"), create))
				w := must(s.pods().Watch(ctx, test.options))
				defer w.Stop()
				if got := events(w); !slices.Equal(got, test.seen) {
					t.Errorf("at first the watch sends %q, want %q", got, test.seen)
				}
				history(ctx, t, s)
				if got := events(w); !slices.Equal(got, test.later) {
					t.Errorf("then the watch sends %q, want %q", got, test.later)
				}
				again := must(s.pods().Watch(ctx, metav1.ListOptions{ResourceVersion: "2", LabelSelector: test.options.LabelSelector, FieldSelector: test.options.FieldSelector}))
				defer again.Stop()
				if got := events(again); test.options.ResourceVersion != "6" && !slices.Equal(got, test.later) {
					t.Errorf("a later watch from version 2 sends %q, want %q", got, test.later)
				}
			})
		})
	}
}

func TestWatchIsRefused(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		_, err := s.pods().Watch(t.Context(), metav1.ListOptions{SendInitialEvents: ptr.To(true)})
		checkError(t, err, 422, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
		_, err = s.pods().Watch(t.Context(), metav1.ListOptions{ResourceVersion: "x"})
		checkError(t, err, 422, "resourceVersion: Invalid value")
		_, err = s.pods().Watch(t.Context(), metav1.ListOptions{FieldSelector: "spec.unknown=1"})
		checkError(t, err, 400, "field label not supported: spec.unknown")
	})
}

// A watch sends a bookmark every minute and one 2 s before its end.
func TestWatchEnds(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		w := must(s.pods().Watch(ctx, metav1.ListOptions{ResourceVersion: "1", AllowWatchBookmarks: true, TimeoutSeconds: ptr.To[int64](90)}))
		defer w.Stop()
		must(s.kube.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}, create))
		for _, step := range []struct {
			wait time.Duration
			want []string
		}{{59 * time.Second, nil}, {time.Second, []string{"BOOKMARK 2"}}, {27 * time.Second, nil}, {time.Second, []string{"BOOKMARK 2"}}, {time.Second, nil}, {time.Second, []string{"END"}}} {
			time.Sleep(step.wait)
			if got := events(w); !slices.Equal(got, step.want) {
				t.Errorf("after %v more the watch sends %q, want %q", step.wait, got, step.want)
			}
		}
	})
}

// A client that asks only for metadata gets only metadata.
func TestMetadata(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		must(s.pods().Create(ctx, newPod("a"), create))
		client := must(metadataClient(s))
		found := must(client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace("default").List(ctx, metav1.ListOptions{Limit: 1}))
		if len(found.Items) != 1 || found.Items[0].Name != "a" || found.Items[0].Kind != "PartialObjectMetadata" || found.ResourceVersion != "2" {
			t.Errorf("found %+v", found)
		}
		w := must(client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Watch(ctx, metav1.ListOptions{}))
		defer w.Stop()
		event := <-w.ResultChan()
		if o, isPartial := event.Object.(*metav1.PartialObjectMetadata); !isPartial || o.Name != "a" {
			t.Errorf("the watch sends %+v", event.Object)
		}
	})
}
