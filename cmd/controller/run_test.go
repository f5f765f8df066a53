package main

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mycompany/podmanager/pkg/controller/source"
)

// fakeController stands for the controller.
type fakeController struct {
	testWork
	workers int
}

func (w *fakeController) Shutdown() {}

func (w *fakeController) Run(ctx context.Context, workers int) error {
	w.workers = workers
	return w.run(ctx)
}

// fakeScopes stands for the informers.
type fakeScopes struct {
	ctx            context.Context
	started, ended time.Time
	served         chan struct{}

	mu     sync.Mutex
	states []source.ScopeState
}

func (s *fakeScopes) Run(ctx context.Context) {
	s.ctx, s.started = ctx, time.Now()
	<-ctx.Done()
	s.ended = time.Now()
}

func (s *fakeScopes) Served() <-chan struct{} { return s.served }

func (s *fakeScopes) States() []source.ScopeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states
}

func (s *fakeScopes) serve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = []source.ScopeState{{Phase: source.ScopeServed}}
	close(s.served)
}

func testProcess(ctx context.Context, t *testing.T, lock *testLock) (*process, *fakeController, *fakeScopes) {
	worker := &fakeController{testWork: testWork{drain: 10 * time.Second}}
	scopes := &fakeScopes{served: make(chan struct{}), states: []source.ScopeState{{Phase: source.ScopeStarting, Why: "not yet"}}}
	p := &process{config: NewOptions().Config(), controller: worker, scopes: scopes, contact: &contact{}, examine: func(context.Context) {}}
	if lock != nil {
		p.election = testElection(ctx, t, lock)
	}
	return p, worker, scopes
}

func TestRun(t *testing.T) {
	for name, lock := range map[string]*testLock{"alone": nil, "elected": {testLease: &testLease{}, identity: "a"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := testContext(t)
				p, worker, scopes := testProcess(ctx, t, lock)
				scopes.serve()
				ended := make(chan error)
				go func() { ended <- p.run(ctx) }()
				pass(time.Minute)
				if worker.workers != 100 || scopes.started.IsZero() {
					t.Fatalf("%d workers, informers started at %v", worker.workers, scopes.started)
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
					t.Errorf("informers ended at %v, workers at %v", scopes.ended, worker.ended)
				}
			})
		})
	}
}

// A replica that cannot fill its caches does not stand for election.
func TestCandidateNeedsCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		lock := &testLock{testLease: &testLease{}, identity: "a"}
		p, worker, scopes := testProcess(ctx, t, lock)
		ended := make(chan error)
		go func() { ended <- p.run(ctx) }()
		pass(time.Minute)
		if lock.get().record != nil || scopes.started.IsZero() {
			t.Errorf("lease %+v, informers started at %v; want none, and started", lock.get().record, scopes.started)
		}
		scopes.serve()
		pass(time.Second)
		if lock.get().record == nil || worker.started.IsZero() {
			t.Errorf("lease %+v, workers started at %v; want both now", lock.get().record, worker.started)
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
		lock := &testLock{testLease: &testLease{}, identity: "a"}
		p, worker, scopes := testProcess(ctx, t, lock)
		expect := func(when, path string, code int, parts ...string) {
			t.Helper()
			answer := httptest.NewRecorder()
			healthHandler(p.liveChecks(), p.readyChecks()).ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
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
		go func() { ended <- p.run(ctx) }()

		expect("at the start", "/livez", 200, "ok")
		expect("at the start", "/readyz", 500, "[+]ping ok\n[-]namespaces failed: all namespaces: not yet\n", "[+]leaderElection ok", "readyz check failed")
		scopes.serve()
		answered := time.Now()
		p.contact.lastAnswer.Store(&answered)
		pass(time.Second)
		expect("when leading", "/healthz", 200, "ok")
		expect("when leading", "/readyz", 200, "ok")
		expect("when leading", "/readyz?verbose", 200, "[+]ping ok\n[+]namespaces ok\n[+]apiServer ok\n[+]leaderElection ok\nreadyz check passed\n")
		expect("when leading", "/metrics", 404)

		// A renewal that never returns, so that the elector is stuck.
		release := make(chan struct{})
		lock.set(func() { lock.stuck = release })
		pass(18 * time.Second)
		expect("when stuck", "/livez", 200)
		expect("when stuck", "/readyz", 500, "[-]leaderElection failed: failed election to renew leadership")
		pass(20 * time.Second)
		expect("when stuck for long", "/livez?verbose", 500, "[-]leaderElection failed", "livez check failed")
		close(release)
		stop()
		<-ended
		pass(worker.drain)
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
		// A standby can still take over with its filled caches, and a restart would not help.
		"the API server is away": {[]source.ScopeState{state("", source.ScopeServed, "")}, 95 * time.Second, 200,
			"[+]ping ok\n[+]namespaces ok\n[!]apiServer: has not answered for 1m35s; nothing is done meanwhile\nreadyz check passed\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &process{scopes: &fakeScopes{states: test.states}, contact: &contact{}}
				answered := time.Now()
				p.contact.lastAnswer.Store(&answered)
				time.Sleep(test.silent)
				answer := httptest.NewRecorder()
				healthHandler(nil, p.readyChecks()).ServeHTTP(answer, httptest.NewRequest("GET", "/readyz?verbose", nil))
				if answer.Code != test.code || answer.Body.String() != test.want {
					t.Errorf("answers %d %q, want %d %q", answer.Code, answer.Body, test.code, test.want)
				}
			})
		})
	}
}
