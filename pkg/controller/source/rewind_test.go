package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// podAt parses a pod of the form name/uid@version.
func podAt(text string) *corev1.Pod {
	identity, version, _ := strings.Cut(text, "@")
	name, uid, _ := strings.Cut(identity, "/")
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid), ResourceVersion: version}}
}

// The source has seen web with UID 1 at version 5, and everything up to version 9. It compares this with the API server.
func TestRewind(t *testing.T) {
	away := errors.New("away")
	for name, test := range map[string]struct {
		isGone bool
		now    testServer
		then   testServer // as of version 9
		want   error
		asks   int
	}{
		"nothing has happened":       {now: testServer{version: "9", object: "web/1@5"}, asks: 1},
		"changed":                    {now: testServer{version: "12", object: "web/1@11"}, then: testServer{object: "web/1@5"}, asks: 2},
		"deleted":                    {now: testServer{version: "12"}, then: testServer{object: "web/1@5"}, asks: 2},
		"deleted, and created again": {now: testServer{version: "12", object: "web/2@12"}, then: testServer{object: "web/1@5"}, asks: 2},
		"behind":                     {now: testServer{version: "8", object: "web/1@5"}, want: errRewound, asks: 1},
		"older":                      {now: testServer{version: "12", object: "web/1@4"}, want: errRewound, asks: 1},
		"changed before":             {now: testServer{version: "12", object: "web/1@7"}, then: testServer{object: "web/1@7"}, want: errRewound, asks: 2},
		"older, and changed since":   {now: testServer{version: "12", object: "web/1@11"}, then: testServer{object: "web/1@4"}, want: errRewound, asks: 2},
		"gone before":                {now: testServer{version: "12"}, want: errRewound, asks: 2},
		"another before":             {now: testServer{version: "12", object: "web/2@7"}, then: testServer{object: "web/2@7"}, want: errRewound, asks: 2},
		"deleted, compacted":         {now: testServer{version: "12"}, then: testServer{err: apierrors.NewResourceExpired("")}, asks: 2},
		"older, compacted":           {now: testServer{version: "12", object: "web/1@4"}, then: testServer{err: apierrors.NewResourceExpired("")}, want: errRewound, asks: 1},
		"not served any more":        {now: testServer{version: "12"}, then: testServer{err: apierrors.NewInternalError(errors.New("an invalid group/version"))}, asks: 2},
		"away":                       {now: testServer{err: away}, want: away, asks: 1},
		"away later":                 {now: testServer{version: "12"}, then: testServer{err: away}, want: away, asks: 2},
		"gone as ever":               {isGone: true, now: testServer{version: "9"}, asks: 1},
		"back since":                 {isGone: true, now: testServer{version: "12", object: "web/2@11"}, asks: 2},
		"back":                       {isGone: true, now: testServer{version: "12", object: "web/1@4"}, then: testServer{object: "web/1@4"}, want: errRewound, asks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			test.now.then, test.now.asked = &test.then, &asked
			var evidence error
			source := &checkedSource{client: test.now, rewound: func(err error) { evidence = err }, version: "9"}
			source.note(podAt("web/1@5"), test.isGone)
			if err := source.check(t.Context(), maxWitnesses); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if isRewound := errors.Is(test.want, errRewound); isRewound != (evidence != nil) {
				t.Errorf("rewound was called with the error %v", evidence)
			}
			if asked != test.asks {
				t.Errorf("%d requests, want %d", asked, test.asks)
			}
		})
	}
}

// A source without objects compares only the version. A source that has seen nothing sends no request.
func TestRewindWithoutWitness(t *testing.T) {
	for _, test := range []struct {
		told, now string
		want      error
		asks      int
	}{{"", "9", nil, 0}, {"9", "9", nil, 1}, {"9", "10", nil, 1}, {"10", "9", errRewound, 1}} {
		asked := 0
		source := &checkedSource{client: testServer{version: test.now, asked: &asked}, rewound: func(error) {}, version: test.told}
		if err := source.check(t.Context(), maxWitnesses); !errors.Is(err, test.want) || asked != test.asks {
			t.Errorf("seen up to version %q, now at %s: got error %v after %d requests", test.told, test.now, err, asked)
		}
	}
}

// The witnesses are the objects that a list or a watch has shown last.
func TestWitnesses(t *testing.T) {
	type step = func(s *checkedSource, api *testSource)
	list := func(version string, pods ...string) step {
		return func(s *checkedSource, api *testSource) {
			api.version, api.pods, api.next = version, pods, ""
			_, _ = s.list(t.Context(), metav1.ListOptions{})
		}
	}
	page := func(token, next, version string, pods ...string) step {
		return func(s *checkedSource, api *testSource) {
			api.version, api.pods, api.next = version, pods, next
			_, _ = s.list(t.Context(), metav1.ListOptions{Continue: token})
		}
	}
	begin := func(lists bool) step {
		return func(s *checkedSource, api *testSource) {
			api.watch = watch.NewFake()
			w, _ := s.beginWatch(t.Context(), metav1.ListOptions{SendInitialEvents: ptr.To(lists)})
			go func() {
				for range w.ResultChan() { //nolint:revive // like an informer
				}
			}()
		}
	}
	event := func(kind watch.EventType, pod string) step {
		return func(_ *checkedSource, api *testSource) { api.watch.Action(kind, podAt(pod)) }
	}
	for name, test := range map[string]struct {
		steps []step
		want  string
	}{
		"nothing":               {nil, ":"},
		"a list":                {[]step{list("9", "a/1@3", "b/2@8", "c/3@1", "d/4@5")}, "9: b/2@8 d/4@5 a/1@3"},
		"another list":          {[]step{list("9", "a/1@3"), list("12", "b/2@11")}, "12: b/2@11"},
		"an empty list":         {[]step{list("9")}, "9:"},
		"a page of two":         {[]step{list("9", "a/1@3"), page("", "more", "12", "b/2@11")}, ": b/2@11"},
		"both pages":            {[]step{page("", "more", "12", "b/2@11"), page("more", "", "12", "c/3@12")}, "12: c/3@12 b/2@11"},
		"a change":              {[]step{list("9", "a/1@3", "b/2@8"), begin(false), event(watch.Modified, "a/1@10")}, "10: a/1@10 b/2@8"},
		"a deletion":            {[]step{list("9", "a/1@3", "b/2@8"), begin(false), event(watch.Deleted, "a/1@10")}, "10: a/1@10- b/2@8"},
		"a bookmark":            {[]step{list("9", "a/1@3"), begin(false), event(watch.Bookmark, "@12")}, "12: a/1@3"},
		"four":                  {[]step{list("9", "a/1@3", "b/2@8", "c/3@9"), begin(false), event(watch.Added, "d/4@10")}, "10: d/4@10 c/3@9 b/2@8"},
		"a watch that lists":    {[]step{begin(true), event(watch.Added, "b/2@8"), event(watch.Added, "a/1@3"), event(watch.Bookmark, "@9")}, "9: b/2@8 a/1@3"},
		"and does not end":      {[]step{list("5", "c/3@4"), begin(true), event(watch.Added, "b/2@8")}, ": b/2@8"},
		"and goes on":           {[]step{begin(true), event(watch.Bookmark, "@9"), event(watch.Added, "a/1@11")}, "11: a/1@11"},
		"an event of a version": {[]step{list("9", "a/1@3"), begin(false), event(watch.Modified, "a/1@1000")}, "1000: a/1@1000"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &testSource{watch: watch.NewFake()}
				indifferent := testServer{version: "9999", then: &testServer{err: apierrors.NewResourceExpired("")}}
				s := &checkedSource{source: api.listWatch(), client: indifferent, answered: func(context.Context, error) {}}
				for _, step := range test.steps {
					step(s, api)
					synctest.Wait()
				}
				var got []string
				for _, w := range s.witnesses {
					got = append(got, fmt.Sprintf("%s/%s@%s%s", w.name.Name, w.uid, w.version, map[bool]string{true: "-"}[w.isGone]))
				}
				if got := strings.TrimSpace(s.version + ": " + strings.Join(got, " ")); got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
				api.watch.Stop()
			})
		})
	}
}

// An informer sends no request if the API server has gone back in time, or if the source cannot find out whether it has.
func TestNoRequestAfterRewind(t *testing.T) {
	for _, server := range []testServer{{version: "8"}, {err: errors.New("away")}} {
		api := &testSource{watch: watch.NewFake()}
		var answers []error
		s := &checkedSource{source: api.listWatch(), client: server, version: "9",
			answered: func(_ context.Context, err error) { answers = append(answers, err) }, rewound: func(error) {}}
		_, err1 := s.listWatch().ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "9"})
		_, err2 := s.listWatch().WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "9"})
		if err1 == nil || err2 == nil || api.requests > 0 || !slices.Equal(answers, []error{err1, err2}) {
			t.Errorf("the errors are %v, after %d requests of the informer; want two errors and no request", answers, api.requests)
		}
	}
}

// Events that a stopped watch has yet to forward are ignored, because the next list may be newer.
func TestStoppedWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &testSource{watch: watch.NewFake()}
		s := &checkedSource{source: api.listWatch(), answered: func(context.Context, error) {}}
		w, err := s.beginWatch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		api.version = "9"
		if _, err := s.list(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		api.watch.Action(watch.Modified, podAt("a/1@5"))
		w.Stop()
		synctest.Wait()
		if _, more := <-w.ResultChan(); more || s.version != "9" || len(s.witnesses) > 0 {
			t.Errorf("the witnesses are %+v at version %s, want none at version 9", s.witnesses, s.version)
		}
	})
}

// testServer is an API server with one object.
type testServer struct {
	metadata.Getter
	version, object string
	err             error
	then            *testServer // as of an exact version
	asked           *int
}

func (s testServer) Resource(schema.GroupVersionResource) metadata.Getter { return s }
func (s testServer) Namespace(string) metadata.ResourceInterface          { return s }

func (s testServer) List(_ context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if s.asked != nil {
		*s.asked++
	}
	if options.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		s = *s.then
		s.version = options.ResourceVersion
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: s.version}}
	if s.object != "" {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: podAt(s.object).ObjectMeta})
	}
	return list, s.err
}

// testSource is what an informer lists and watches.
type testSource struct {
	version, next string
	pods          []string
	watch         *watch.FakeWatcher
	requests      int
}

func (s *testSource) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			s.requests++
			list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: s.version, Continue: s.next}}
			for _, pod := range s.pods {
				list.Items = append(list.Items, *podAt(pod))
			}
			return list, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			s.requests++
			return s.watch, nil
		},
	}
}
