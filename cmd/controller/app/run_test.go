package app

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/clients"
	"github.com/mycompany/podmanager/pkg/controller"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/leader"
	"github.com/mycompany/podmanager/pkg/serve"
)

// fakeController replaces the controller. Its workers take 10 s to drain, unless they are told to stop at once.
type fakeController struct {
	workers        int
	started, ended time.Time
}

const drains = 10 * time.Second

func (c *fakeController) Shutdown() {}

func (c *fakeController) Run(ctx context.Context, workers int) error {
	c.workers, c.started = workers, time.Now()
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), controller.ErrStopNow) {
		time.Sleep(drains)
	}
	c.ended = time.Now()
	return nil
}

// fakeScopes replaces the informers.
type fakeScopes struct {
	ctx            context.Context
	started, ended time.Time
	served         chan struct{}
	rewound        chan error

	mu       sync.Mutex
	states   []source.ScopeState
	managers []*v1.PodManager
}

func (s *fakeScopes) Run(ctx context.Context) (err error) {
	s.ctx, s.started = ctx, time.Now()
	select {
	case <-ctx.Done():
	case err = <-s.rewound:
	}
	s.ended = time.Now()
	return err
}

func (s *fakeScopes) Served() <-chan struct{} { return s.served }

func (s *fakeScopes) States() []source.ScopeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states
}

func (s *fakeScopes) PodManagers() []*v1.PodManager { return s.managers }

func (s *fakeScopes) serve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = []source.ScopeState{{Phase: source.ScopeServed}}
	close(s.served)
}

func newFakeScopes() *fakeScopes {
	return &fakeScopes{served: make(chan struct{}), rewound: make(chan error, 1), states: []source.ScopeState{{Phase: source.ScopeStarting, Why: "not yet"}}}
}

func cachesOf(fake *fakeScopes) *caches {
	return newCaches(func() (scopes, []source.Scope) { return fake, nil })
}

func testContext(t *testing.T) (context.Context, context.CancelFunc) {
	_, ctx := ktesting.NewTestContext(t)
	return context.WithCancel(ctx)
}

// pass lets time pass and waits until all goroutines are blocked.
func pass(duration time.Duration) {
	time.Sleep(duration)
	synctest.Wait()
}

// testProcess returns a process that stands for election on server. If server is nil, the process works without an election.
func testProcess(ctx context.Context, t *testing.T, server *kubefake.Clientset) (*Process, *fakeController, *fakeScopes) {
	t.Helper()
	worker, scopes := &fakeController{}, newFakeScopes()
	role := &controllerRole{config: NewOptions().Config(), caches: cachesOf(scopes), contact: &clients.Contact{}, examine: func(context.Context) {},
		nodes: source.NewNodes(nil, clock.RealClock{})}
	role.newController = func(context.Context, []source.Scope) (reconciler, error) { return worker, nil }
	p := &Process{servers: &servers{}, role: role}
	if server == nil {
		return p, worker, scopes
	}
	lease := NewOptions().Lease
	lock, err := leader.NewLock(server.CoordinationV1(), lease)
	if err != nil {
		t.Fatal(err)
	}
	if role.election, err = leader.New(ctx, lock, lease); err != nil {
		t.Fatal(err)
	}
	return p, worker, scopes
}

func TestRun(t *testing.T) {
	for name, server := range map[string]*kubefake.Clientset{"alone": nil, "elected": kubefake.NewClientset()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := testContext(t)
				p, worker, scopes := testProcess(ctx, t, server)
				scopes.serve()
				ended := make(chan error)
				go func() { ended <- p.Run(ctx) }()
				pass(time.Minute)
				if worker.workers != 100 || scopes.started.IsZero() {
					t.Fatalf("%d workers, informers started at %v; want 100 workers, and informers that have started", worker.workers, scopes.started)
				}
				stop()
				pass(9 * time.Second)
				if err := scopes.ctx.Err(); err != nil {
					t.Error("the informers were stopped while the workers still drained")
				}
				if err := <-ended; err != nil {
					t.Errorf("ended with %v", err)
				}
				if scopes.ended.Before(worker.ended) || worker.ended.IsZero() {
					t.Errorf("the informers ended at %v, before the workers, which ended at %v", scopes.ended, worker.ended)
				}
			})
		})
	}
}

// A replica that cannot fill its caches does not stand for election.
func TestCandidateNeedsCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		server := kubefake.NewClientset()
		p, worker, scopes := testProcess(ctx, t, server)
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		pass(time.Minute)
		if asked := server.Actions(); len(asked) > 0 || scopes.started.IsZero() {
			t.Errorf("%d requests for the Lease, want none; informers started at %v", len(asked), scopes.started)
		}
		scopes.serve()
		pass(time.Second)
		if asked := server.Actions(); len(asked) == 0 || worker.started.IsZero() {
			t.Errorf("with filled caches, %d requests for the Lease, want some; workers started at %v", len(asked), worker.started)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		server := kubefake.NewClientset()
		p, _, scopes := testProcess(ctx, t, server)
		expect := func(when, path string, code int, parts ...string) {
			t.Helper()
			answer := httptest.NewRecorder()
			p.servers.healthHandler(p.role).ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
			if answer.Code != code {
				t.Errorf("%s: %s answers %d, want %d", when, path, answer.Code, code)
			}
			for _, part := range parts {
				if !strings.Contains(answer.Body.String(), part) {
					t.Errorf("%s: %s answers %q, want %q in it", when, path, answer.Body, part)
				}
			}
		}
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()

		expect("at the start", "/livez", 200, "ok")
		expect("at the start", "/readyz", 500, "[+]ping ok\n[-]namespaces failed: all namespaces: not yet\n", "[+]leaderElection ok", "readyz check failed")
		scopes.serve()
		p.role.(*controllerRole).contact.Answered()
		pass(time.Second)
		expect("when leading", "/healthz", 200, "ok")
		expect("when leading", "/readyz", 200, "ok")
		expect("when leading", "/readyz?verbose", 200, "[+]ping ok\n[+]namespaces ok\n[+]apiServer ok\n[+]leaderElection ok\nreadyz check passed\n")
		expect("when leading", "/metrics", 404)

		// The renewal never returns, so the elector is stuck.
		release := make(chan struct{})
		server.Lock()
		server.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			<-release
			return false, nil, nil
		})
		server.Unlock()
		pass(18 * time.Second)
		expect("when stuck", "/livez", 200)
		expect("when stuck", "/readyz", 500, "[-]leaderElection failed: failed election to renew leadership")
		pass(20 * time.Second)
		expect("when stuck for long", "/livez?verbose", 500, "[-]leaderElection failed", "livez check failed")
		close(release)
		stop()
		<-ended
		pass(drains)
	})
}

func TestReady(t *testing.T) {
	state := func(namespace string, phase source.ScopePhase, why string) source.ScopeState {
		return source.ScopeState{Namespace: namespace, Phase: phase, Why: why}
	}
	tests := map[string]struct {
		states []source.ScopeState
		silent time.Duration
		code   int
		want   string
	}{
		"served": {[]source.ScopeState{state("", source.ScopeServed, "")}, time.Second, 200,
			"[+]ping ok\n[+]namespaces ok\n[+]apiServer ok\nreadyz check passed\n"},
		"served, with a right missing": {[]source.ScopeState{state("", source.ScopeServed, "may not patch")}, 0, 200,
			"[+]ping ok\n[!]namespaces: may not patch\n[+]apiServer ok\nreadyz check passed\n"},
		"the only one is forbidden": {[]source.ScopeState{state("a", source.ScopeForbidden, "may not list")}, 0, 500,
			"[+]ping ok\n[-]namespaces failed: namespace a: may not list\n[+]apiServer ok\nreadyz check failed\n"},
		"one of two is served": {[]source.ScopeState{state("a", source.ScopeServed, ""), state("b", source.ScopeMissing, "is not there")}, 0, 200,
			"[+]ping ok\n[+]namespaces ok\n[+]namespace a ok\n[!]namespace b: is not there\n[+]apiServer ok\nreadyz check passed\n"},
		"none of two is": {[]source.ScopeState{state("a", source.ScopeStarting, "not yet"), state("b", source.ScopeMissing, "is not there")}, 0, 500,
			"[+]ping ok\n[-]namespaces failed: none is served\n[!]namespace a: not yet\n[!]namespace b: is not there\n[+]apiServer ok\nreadyz check failed\n"},
		// A standby can still take over with its filled caches.
		"the API server is away": {[]source.ScopeState{state("", source.ScopeServed, "")}, 95 * time.Second, 200,
			"[+]ping ok\n[+]namespaces ok\n[!]apiServer: has not answered for 1m35s, or only with errors; nothing is done meanwhile\nreadyz check passed\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				role := &controllerRole{caches: cachesOf(&fakeScopes{states: test.states}), contact: &clients.Contact{}}
				role.contact.Answered()
				time.Sleep(test.silent)
				answer := httptest.NewRecorder()
				serve.Health(nil, role.readyChecks()).ServeHTTP(answer, httptest.NewRequest("GET", "/readyz?verbose", nil))
				if answer.Code != test.code || answer.Body.String() != test.want {
					t.Errorf("answers %d %q, want %d %q", answer.Code, answer.Body, test.code, test.want)
				}
			})
		})
	}
}

// A missing policy is only a note, and never makes the controller unready. A controller for single namespaces does not read policies.
func TestPolicyNote(t *testing.T) {
	tests := map[string]struct {
		args, want string
		asks       bool
	}{
		"all namespaces": {"", "[!]policy: there is no ValidatingAdmissionPolicy podmanager-pod-rights, so that", true},
		"another name":   {"-policy-name=second", "[!]policy: there is no ValidatingAdmissionPolicy second-pod-rights, so that", true},
		"one namespace":  {"-namespace=team-a", "[!]policy: not known whether the policies are in force, since the controller has no rights outside its namespaces", false},
		"turned off":     {"-policy-name=", "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := testContext(t)
				p, _, scopes := testProcess(ctx, t, nil)
				options := NewOptions()
				if err := options.Parse(strings.Fields(test.args)); err != nil {
					t.Fatal(err)
				}
				server := kubefake.NewClientset()
				p.role.(*controllerRole).policies = newPolicies(options.Config(), &clients.Clients{Clients: source.Clients{Kube: server}})
				ended := make(chan error)
				go func() { ended <- p.Run(ctx) }()
				pass(time.Minute)
				if asked := len(server.Actions()); asked > 0 {
					t.Errorf("the policies were requested %d times before the caches were filled", asked)
				}
				scopes.serve()
				pass(time.Second)
				answer := httptest.NewRecorder()
				serve.Health(nil, p.role.readyChecks()).ServeHTTP(answer, httptest.NewRequest("GET", "/readyz?verbose", nil))
				if body := answer.Body.String(); answer.Code != 200 || !strings.Contains(body, test.want) || strings.Contains(body, "policy") != (test.want != "") {
					t.Errorf("answers %d %q, want %q in it", answer.Code, body, test.want)
				}
				if asks := len(server.Actions()) > 0; asks != test.asks {
					t.Errorf("the requests for policies are %v, want some: %v", server.Actions(), test.asks)
				}
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Only the leader serves metrics about single objects, and only while it leads.
func TestObjectMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		p, _, scopes := testProcess(ctx, t, kubefake.NewClientset())
		p.role.(*controllerRole).config.ObjectMetrics = true
		scopes.managers = []*v1.PodManager{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}}
		tells := func() bool {
			answer := httptest.NewRecorder()
			p.servers.metricsHandler(p.role).ServeHTTP(answer, httptest.NewRequest("GET", serve.ObjectMetricsPath, nil))
			if answer.Code != 200 {
				t.Errorf("answers %d", answer.Code)
			}
			return strings.Contains(answer.Body.String(), `kube_podmanager_spec_replicas{namespace="ns",podmanager="web"} 3`)
		}
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		pass(time.Minute)
		if tells() {
			t.Error("a standby serves metrics of objects")
		}
		scopes.serve()
		pass(time.Second)
		if !tells() {
			t.Error("the leader does not serve metrics of objects")
		}
		stop()
		<-ended
		if tells() {
			t.Error("a former leader still serves metrics of objects")
		}
	})
}
