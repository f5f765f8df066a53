package source

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	kubefake "k8s.io/client-go/kubernetes/fake"
	klog "k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/access"
	managersv1 "github.com/mycompany/podmanager/pkg/generated/clientset/versioned/typed/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/shard"
)

func TestScopeState(t *testing.T) {
	lacks := func(rights ...access.Right) access.Verdict {
		return access.Verdict{Lacking: rights, User: "system:serviceaccount:podmanager-system:podmanager-controller"}
	}
	list, patch := access.Right{Resource: "pods", Verb: "list"}, access.Right{Resource: "pods/resize", Verb: "patch"}
	tests := map[string]struct {
		facts facts
		phase ScopePhase
		why   []string
	}{
		"at the start":     {facts{}, ScopeStarting, []string{"not filled yet"}},
		"no review":        {facts{err: errors.New("away")}, ScopeStarting, []string{"does not answer"}},
		"filled":           {facts{synced: true}, ScopeServed, nil},
		"no later review":  {facts{synced: true, err: errors.New("away")}, ScopeServed, nil},
		"may not list":     {facts{namespace: "a", verdict: lacks(list)}, ScopeForbidden, []string{"may not list pods", "rbac.yaml", "--namespace a", "--serviceaccount podmanager-system:podmanager-controller"}},
		"may not list all": {facts{verdict: lacks(list)}, ScopeForbidden, []string{"may not list pods; run kubectl apply -f artifacts/rbac.yaml"}},
		"another user":     {facts{namespace: "a", verdict: access.Verdict{Lacking: []access.Right{list}, User: "jane"}}, ScopeForbidden, []string{"jane may not list pods; run kubectl create rolebinding", "--user jane"}},
		"user not known":   {facts{verdict: access.Verdict{Lacking: []access.Right{list}}}, ScopeForbidden, []string{"this user may not list pods; run kubectl create clusterrolebinding"}},
		"may not change":   {facts{namespace: "a", synced: true, verdict: lacks(patch)}, ScopeServed, []string{"may not patch pods/resize"}},
		"no longer":        {facts{namespace: "a", synced: true, verdict: lacks(list, patch)}, ScopeForbidden, []string{"may not list pods; patch pods/resize"}},
		"again":            {facts{synced: true, refused: map[string]bool{"pods": true}}, ScopeStarting, []string{"within a minute"}},
		"missing":          {facts{namespace: "a", verdict: access.Verdict{Missing: true, Lacking: []access.Right{list}}}, ScopeMissing, []string{"does not exist", "-namespace"}},
		"no CRD":           {facts{synced: true, noCRD: true}, ScopeNoCRD, []string{"kubectl apply -f artifacts/crd.yaml"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := test.facts.state()
			if got.Phase != test.phase || (got.Why == "") != (test.why == nil) {
				t.Errorf("got %+v, want %s", got, test.phase)
			}
			for _, part := range test.why {
				if !strings.Contains(got.Why, part) {
					t.Errorf("%q is not in %q", part, got.Why)
				}
			}
		})
	}
}

// noManagers is a client of an API server without PodManagers.
type noManagers struct {
	managersv1.AppsV1Interface
	managersv1.PodManagerInterface
}

func (n noManagers) PodManagers(string) managersv1.PodManagerInterface { return n }

func (noManagers) List(context.Context, metav1.ListOptions) (*v1.PodManagerList, error) {
	return &v1.PodManagerList{}, nil
}

func (noManagers) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), nil
}

func (noManagers) IsWatchListSemanticsUnSupported() bool { return true }

// testScopes has scopes of a fake API server. The test sets the verdict of each namespace.
type testScopes struct {
	*Scopes
	kube     *kubefake.Clientset
	sink     ktesting.Underlier
	stop     context.CancelFunc
	mu       sync.Mutex
	verdicts map[string]access.Verdict
	reviews  map[string]int
	ctx      context.Context
}

func runScopes(t *testing.T, verdicts map[string]access.Verdict) *testScopes {
	s := &testScopes{kube: kubefake.NewClientset(), verdicts: verdicts, reviews: map[string]int{}}
	var all []Scope
	for _, namespace := range slices.Sorted(maps.Keys(verdicts)) {
		all = append(all, NewScope(Clients{Kube: s.kube, PodManagers: noManagers{}, Metadata: testServer{version: "9999"}}, 0, namespace, "podmanager", labels.Everything()))
	}
	s.Scopes = NewScopes(s.kube, all, access.All)
	for _, runner := range s.runners {
		runner.review = func(context.Context) (access.Verdict, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.reviews[runner.scope.Namespace]++
			return s.verdicts[runner.scope.Namespace], nil
		}
	}
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(0)))
	s.sink = logger.GetSink().(ktesting.Underlier)
	ctx, stop := context.WithCancel(klog.NewContext(t.Context(), logger))
	s.ctx = ctx
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	s.stop = func() {
		stop()
		<-ended
	}
	synctest.Wait()
	return s
}

func (s *testScopes) permit(namespace string, verdict access.Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdicts[namespace] = verdict
}

// lines counts how often the log contains a text.
func (s *testScopes) lines(text string) int {
	return strings.Count(s.sink.GetBuffer().String(), text)
}

// phases returns the phases of all scopes, in the order of their namespaces.
func (s *testScopes) phases() string {
	var all []string
	for _, state := range s.States() {
		all = append(all, string(state.Phase))
	}
	return strings.Join(all, " ")
}

// A scope without rights does not keep other scopes from being served. It is logged once, reviewed repeatedly, and served as soon as the
// controller has the rights.
func TestScopesWithDifferentRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		denied := access.Verdict{Lacking: []access.Right{{Resource: "pods", Verb: "list"}}, User: "jane"}
		s := runScopes(t, map[string]access.Verdict{"a": {}, "b": denied, "c": {Missing: true}})
		defer s.stop()
		expect := func(when, phases string, lines int) {
			t.Helper()
			synctest.Wait()
			if got := s.phases(); got != phases {
				t.Errorf("%s: %s, want %s", when, got, phases)
			}
			if got := s.lines("\n"); got != lines {
				t.Errorf("%s: %d lines in the log, want %d:\n%s", when, got, lines, s.sink.GetBuffer())
			}
		}
		expect("at the start", "served forbidden missing", 2)
		select {
		case <-s.Served():
		default:
			t.Error("Served is not closed, although a scope is served")
		}
		time.Sleep(10 * time.Minute)
		expect("later", "served forbidden missing", 2)
		for _, action := range s.kube.Actions() {
			if action.GetNamespace() != "a" {
				t.Errorf("sent %s %s in namespace %s without having the rights", action.GetVerb(), action.GetResource().Resource, action.GetNamespace())
			}
		}
		if s.reviews["a"] != 1 || s.reviews["b"] < 20 || s.reviews["b"] > 40 {
			t.Errorf("the rights were reviewed %v times; want a once, and b 20 to 40 times", s.reviews)
		}
		s.permit("b", access.Verdict{})
		time.Sleep(30 * time.Second)
		expect("when permitted", "served served missing", 3)
		if s.lines(`Served scope="namespace b"`) != 1 {
			t.Errorf("the log does not say that namespace b is served:\n%s", s.sink.GetBuffer())
		}
	})
}

// If rights are revoked while the informers run, that is logged once, and so is their return.
func TestScopeLosesItsRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := runScopes(t, map[string]access.Verdict{"a": {}})
		defer s.stop()
		refused := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
		s.permit("a", access.Verdict{Lacking: access.RightsOn("", "pods", "list", "watch")})
		for range 3 { // an informer retries
			for _, resource := range []string{"pods", "controllerrevisions", "podmanagers"} {
				s.runners[0].answered(s.ctx, resource, refused)
			}
			time.Sleep(time.Minute)
		}
		if got := s.phases(); got != "forbidden" || s.lines("\n") != 1 || s.lines("may not list, watch pods") != 1 {
			t.Errorf("%s, want forbidden and one line:\n%s", got, s.sink.GetBuffer())
		}
		s.permit("a", access.Verdict{})
		time.Sleep(time.Minute)
		if got := s.phases(); got != "starting" {
			t.Errorf("%s, want starting until the informers have had an answer", got)
		}
		for _, resource := range []string{"pods", "controllerrevisions", "podmanagers"} {
			s.runners[0].answered(s.ctx, resource, nil)
		}
		if got := s.phases(); got != "served" || s.lines("\n") != 2 {
			t.Errorf("%s, want served and another line:\n%s", got, s.sink.GetBuffer())
		}
	})
}

// A scope is not served while the CRD is missing.
func TestScopeWithoutCRD(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := runScopes(t, map[string]access.Verdict{"": {}})
		defer s.stop()
		gone := apierrors.NewNotFound(schema.GroupResource{Resource: "podmanagers"}, "")
		for _, step := range []struct {
			err  error
			want string
		}{{gone, "noCRD"}, {errors.New("away"), "noCRD"}, {nil, "served"}, {errors.New("away"), "served"}} {
			s.runners[0].answered(s.ctx, "podmanagers", step.err)
			if got := s.phases(); got != step.want {
				t.Errorf("after %v: %s, want %s", step.err, got, step.want)
			}
		}
	})
}

// The informers of a shard, which may be built before the scopes run, report that the API server has gone back in time.
func TestShardReportsARewind(t *testing.T) {
	clients := Clients{Kube: kubefake.NewClientset(), PodManagers: noManagers{}, Metadata: testServer{version: "9999"}}
	scope := NewScope(clients, 0, "a", "podmanager", labels.Everything())
	s := NewScopes(clients.Kube, []Scope{scope}, access.All)
	own := scope.OfShard(clients, 0, shard.Shard{Index: 1, Count: 2})
	own.sources[0].rewound(errRewound)
	if err := s.Run(t.Context()); !errors.Is(err, errRewound) {
		t.Errorf("the scopes end with %v", err)
	}
}
