package main

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// testWorker stands for the controller.
type testWorker struct {
	testWork
	synced  atomic.Bool
	workers int
}

func (w *testWorker) HasSynced() bool { return w.synced.Load() }

func (w *testWorker) Run(ctx context.Context, workers int) error {
	w.workers = workers
	return w.run(ctx)
}

// testFactory stands for the informers.
type testFactory struct {
	ctx               context.Context
	started, shutDown time.Time
}

func (f *testFactory) StartWithContext(ctx context.Context) {
	f.ctx, f.started = ctx, time.Now()
}

func (f *testFactory) Shutdown() {
	<-f.ctx.Done()
	f.shutDown = time.Now()
}

func testProcess(ctx context.Context, t *testing.T, lock *testLock) (*process, *testWorker, *testFactory) {
	worker, factory := &testWorker{testWork: testWork{drain: 10 * time.Second}}, &testFactory{}
	p := &process{config: NewOptions().Config(), controller: worker, informers: []informerFactory{factory}}
	if lock != nil {
		p.election = testElection(ctx, t, lock)
	}
	return p, worker, factory
}

func TestRun(t *testing.T) {
	for name, lock := range map[string]*testLock{"alone": nil, "elected": {testLease: &testLease{}, identity: "a"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := testContext(t)
				p, worker, factory := testProcess(ctx, t, lock)
				worker.synced.Store(true)
				ended := make(chan error)
				go func() { ended <- p.run(ctx) }()
				pass(time.Minute)
				if worker.workers != 100 || factory.started.IsZero() {
					t.Fatalf("%d workers, informers started at %v", worker.workers, factory.started)
				}
				stop()
				pass(9 * time.Second)
				if err := factory.ctx.Err(); err != nil {
					t.Error("the informers were stopped while the workers still drained")
				}
				if err := <-ended; err != nil {
					t.Errorf("ended with %v", err)
				}
				if factory.shutDown.Before(worker.ended) || worker.ended.IsZero() {
					t.Errorf("informers ended at %v, workers at %v", factory.shutDown, worker.ended)
				}
			})
		})
	}
}

// A replica that cannot fill its caches leaves the lease to one that can.
func TestCandidateNeedsCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		lock := &testLock{testLease: &testLease{}, identity: "a"}
		p, worker, factory := testProcess(ctx, t, lock)
		ended := make(chan error)
		go func() { ended <- p.run(ctx) }()
		pass(time.Minute)
		if lock.look().record != nil || factory.started.IsZero() {
			t.Errorf("lease %+v, informers started at %v; want none, and started", lock.look().record, factory.started)
		}
		worker.synced.Store(true)
		pass(time.Second)
		if lock.look().record == nil || worker.started.IsZero() {
			t.Errorf("lease %+v, workers started at %v; want both now", lock.look().record, worker.started)
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
		p, worker, _ := testProcess(ctx, t, lock)
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
		expect("at the start", "/readyz", 500, "[+]ping ok\n[-]caches failed: not filled yet", "[+]leaderElection ok", "readyz check failed")
		worker.synced.Store(true)
		pass(time.Second)
		expect("when leading", "/healthz", 200, "ok")
		expect("when leading", "/readyz", 200, "ok")
		expect("when leading", "/readyz?verbose", 200, "[+]ping ok\n[+]caches ok\n[+]leaderElection ok\nreadyz check passed\n")
		expect("when leading", "/metrics", 404)

		// A renewal that never comes back, which the elector cannot get out of.
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
