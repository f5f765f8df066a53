package source

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// An API server that has gone back makes the informers relist that have seen more, those of shards included, with one request.
func TestRewind(t *testing.T) {
	for name, test := range map[string]struct {
		whole, part, left, now    string
		relistsWhole, relistsPart bool
	}{
		"nothing has happened":      {whole: "7", part: "9", left: "9", now: "9"},
		"the whole has seen more":   {whole: "10", part: "9", left: "9", now: "9", relistsWhole: true},
		"a shard has seen more":     {whole: "7", part: "10", left: "10", now: "9", relistsPart: true},
		"all have seen more":        {whole: "10", part: "11", left: "11", now: "9", relistsWhole: true, relistsPart: true},
		"a shard has not listed":    {whole: "7", part: "", left: "10", now: "9"},
		"a shard that is not ours":  {whole: "7", part: "9", left: "10", now: "9"},
		"as far, but not any newer": {whole: "9", part: "9", left: "9", now: "9"},
	} {
		t.Run(name, func(t *testing.T) {
			server := &versionedServer{version: test.now}
			pods := corev1.SchemeGroupVersion.WithResource("pods")
			whole, part, left := newRelistable(pods, "", server, silent), newRelistable(pods, "", server, silent), newRelistable(pods, "", server, silent)
			endsWhole, endsPart, endsLeft := watched(t, whole), watched(t, part), watched(t, left)
			whole.join(part, seenStore{version: test.part})
			whole.join(left, seenStore{version: test.left})() // and has left

			if err := whole.checkRewind(t.Context(), seenStore{version: test.whole}); err != nil {
				t.Fatal(err)
			}
			if server.requests != 1 {
				t.Errorf("%d requests, want 1", server.requests)
			}
			if ended := endsWhole(); ended != test.relistsWhole {
				t.Errorf("the whole relists: %v, want %v", ended, test.relistsWhole)
			}
			if ended := endsPart(); ended != test.relistsPart {
				t.Errorf("the shard relists: %v, want %v", ended, test.relistsPart)
			}
			if endsLeft() {
				t.Error("a shard that has left relists")
			}
		})
	}
}

// An informer that has to list anew does not resume a watch, and asks for what is there now.
func TestRelist(t *testing.T) {
	for name, begin := range map[string]func(lw *cache.ListWatch) error{
		"list": func(lw *cache.ListWatch) error {
			_, err := lw.ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "7"})
			return err
		},
		"watch with the objects first": func(lw *cache.ListWatch) error {
			_, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "7", SendInitialEvents: ptr.To(true)})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := []string{}
			pods := corev1.SchemeGroupVersion.WithResource("pods")
			recorded := &cache.ListWatch{
				ListWithContextFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
					asked = append(asked, options.ResourceVersion)
					return &corev1.PodList{}, nil
				},
				WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
					asked = append(asked, options.ResourceVersion)
					return watch.NewFake(), nil
				},
			}
			whole, part := newRelistable(pods, "", nil, silent), newRelistable(pods, "", nil, recorded)
			whole.join(part, seenStore{})
			isBroken := watched(t, part)
			whole.relistAll() // while the watch is open
			if !isBroken() {
				t.Error("the watch goes on")
			}
			lw := part.listWatch()
			if _, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "7"}); !apierrors.IsResourceExpired(err) {
				t.Errorf("resuming the watch: got %v, want that its version is gone", err)
			}
			if err := begin(lw); err != nil {
				t.Fatal(err)
			}
			if _, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "9"}); err != nil {
				t.Errorf("the watch after that: %v", err)
			}
			if want := []string{"", "7", "", "9"}; !slices.Equal(asked, want) { // the first is that of watched
				t.Errorf("asked for versions %q, want %q", asked, want)
			}
		})
	}
}

// silent is an informer's source without objects and events.
var silent = &cache.ListWatch{
	ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return &corev1.PodList{}, nil },
	WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		return watch.NewFake(), nil
	},
}

// watched opens a watch, and returns a function that tells whether the watch was ended.
func watched(t *testing.T, source *relistable) (isBroken func() bool) {
	t.Helper()
	w, err := source.listWatch().WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return func() bool {
		select {
		case <-w.(*breakableWatch).broken:
			return true
		default:
			return false
		}
	}
}

// seenStore is a store that has seen a version.
type seenStore struct {
	cache.Store
	version string
}

func (s seenStore) LastStoreSyncResourceVersion() string { return s.version }

// versionedServer is an API server at some version, which counts requests.
type versionedServer struct {
	metadata.Getter
	version  string
	requests int
}

func (s *versionedServer) Resource(schema.GroupVersionResource) metadata.Getter { return s }
func (s *versionedServer) Namespace(string) metadata.ResourceInterface          { return s }

func (s *versionedServer) List(context.Context, metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	s.requests++
	return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: s.version}}, nil
}
