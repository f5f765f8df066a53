package leader

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2/ktesting"

	"github.com/mycompany/podmanager/pkg/controller"
)

// testWork is work that takes a given time to drain.
type testWork struct {
	drain            time.Duration
	started, stopped time.Time // stopped is when its context was done
	cause            error
	ended            time.Time
}

func (w *testWork) run(ctx context.Context) error {
	w.started = time.Now()
	<-ctx.Done()
	w.stopped, w.cause = time.Now(), context.Cause(ctx)
	time.Sleep(w.drain)
	w.ended = time.Now()
	return nil
}

var testConfig = Config{Namespace: "test", Name: "test", Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}

func testElection(ctx context.Context, t *testing.T, lock *testLock) *Election {
	t.Helper()
	e, err := New(ctx, lock, testConfig)
	if err != nil {
		t.Fatal(err)
	}
	return e
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

func TestDrainBeforeRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		lease := &testLease{}
		first, second := &testWork{drain: 20 * time.Second}, &testWork{}
		ended := make(chan error)
		go func() { ended <- testElection(ctx, t, &testLock{testLease: lease, identity: "a"}).Run(ctx, first.run) }()
		pass(time.Second)
		standbyCtx, stopStandby := testContext(t)
		go func() {
			ended <- testElection(ctx, t, &testLock{testLease: lease, identity: "b"}).Run(standbyCtx, second.run)
		}()

		pass(time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the leader ended with %v", err)
		}
		synctest.Wait()
		freed := lease.get().freed
		if gap := freed.Sub(first.ended); freed.IsZero() || gap < 0 {
			t.Errorf("the Lease was released %v after the workers had ended, want 0 or more", gap)
		}
		if silence := freed.Sub(lease.get().renewed); silence > 3*time.Second {
			t.Errorf("the Lease was not renewed for %v while the workers drained", silence)
		}
		pass(10 * time.Second)
		if gap := second.started.Sub(freed); second.started.IsZero() || gap < 0 || gap > 5*time.Second {
			t.Errorf("the standby took over %v after the release, want within two retries", gap)
		}
		stopStandby()
		if err := <-ended; err != nil {
			t.Errorf("the second leader ended with %v", err)
		}
	})
}

// The API server is unreachable: the lease can be neither renewed nor released.
func TestLeaseLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		defer stop()
		lock := &testLock{testLease: &testLease{}, identity: "a"}
		work := &testWork{drain: 5 * time.Minute}
		ended := make(chan error)
		go func() { ended <- testElection(ctx, t, lock).Run(ctx, work.run) }()
		pass(time.Minute)
		lock.set(func() { lock.cut = true })

		err := <-ended
		synctest.Wait()
		if !errors.Is(err, errLeaseLost) {
			t.Errorf("got %v, want errLeaseLost", err)
		}
		if late := work.stopped.Sub(lock.get().renewed); work.stopped.IsZero() || late >= 15*time.Second {
			t.Errorf("the workers were stopped %v after the last renewal, when another replica may lead already", late)
		}
		if late := time.Since(work.stopped); late > 0 {
			t.Errorf("Run returned %v after the workers were stopped, want at once", late)
		}
		if !errors.Is(work.cause, controller.ErrStopNow) {
			t.Errorf("the workers were stopped because of %v, want ErrStopNow", work.cause)
		}
		if !lock.get().freed.IsZero() {
			t.Error("released a lease that another replica may hold")
		}
		pass(work.drain)
	})
}

func TestDrainTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		lock := &testLock{testLease: &testLease{}, identity: "a"}
		work := &testWork{drain: 5 * time.Minute}
		ended := make(chan error)
		go func() { ended <- testElection(ctx, t, lock).Run(ctx, work.run) }()
		pass(time.Minute)
		stop()
		stoppedAt := time.Now()
		if err := <-ended; !errors.Is(err, errNotDrained) || time.Since(stoppedAt) != drainTimeout {
			t.Errorf("got %v after %v, want errNotDrained after %v", err, time.Since(stoppedAt), drainTimeout)
		}
		if !lock.get().freed.IsZero() {
			t.Error("the lease was released while workers were running")
		}
		pass(work.drain)
	})
}

func TestStandbyStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		lease := &testLease{leaseState: leaseState{version: 1, record: &resourcelock.LeaderElectionRecord{HolderIdentity: "other", LeaseDurationSeconds: 3600}}}
		work := &testWork{}
		ended := make(chan error)
		go func() { ended <- testElection(ctx, t, &testLock{testLease: lease, identity: "a"}).Run(ctx, work.run) }()
		pass(time.Minute)
		stop()
		stoppedAt := time.Now()
		if err := <-ended; err != nil || time.Since(stoppedAt) > 0 {
			t.Errorf("the standby ended with error %v, %v after the stop; want no error, at once", err, time.Since(stoppedAt))
		}
		if !work.started.IsZero() || lease.get().version != 1 {
			t.Errorf("the work of a standby started at %v, or the standby wrote the Lease: %+v", work.started, lease.get().record)
		}
	})
}

// Another replica takes the lease by force, and this one is stopped before it notices.
func TestNoReleaseOfAnothersLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		lock := &testLock{testLease: &testLease{}, identity: "a"}
		work := &testWork{}
		ended := make(chan error)
		go func() { ended <- testElection(ctx, t, lock).Run(ctx, work.run) }()
		pass(time.Minute + time.Second)
		lock.set(func() {
			lock.version++
			lock.record = &resourcelock.LeaderElectionRecord{HolderIdentity: "other", LeaseDurationSeconds: 15}
		})
		stop()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
		if holder := lock.get().record.HolderIdentity; holder != "other" {
			t.Errorf("the lease is held by %q, want other", holder)
		}
	})
}

func TestWorkFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		defer stop()
		broken := errors.New("broken")
		lock := &testLock{testLease: &testLease{}, identity: "a"}
		err := testElection(ctx, t, lock).Run(ctx, func(context.Context) error { return broken })
		if !errors.Is(err, broken) || lock.get().freed.IsZero() {
			t.Errorf("got error %v, and a release at %v; want the error of the work, and a release", err, lock.get().freed)
		}
	})
}

// A candidate is stopped before it receives the response to its request for the Lease. It does not know that it holds the Lease, but releases the
// Lease all the same.
func TestReleaseAfterLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		lease := &testLease{}
		ended := make(chan error)
		go func() {
			ended <- testElection(ctx, t, &testLock{testLease: lease, identity: "a", loses: true}).Run(ctx, (&testWork{}).run)
		}()
		pass(time.Second)
		if holder := lease.get().record.HolderIdentity; holder != "a" {
			t.Fatalf("%q holds the Lease, want a", holder)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if state := lease.get(); state.record.HolderIdentity != "" {
			t.Errorf("%q still holds the Lease", state.record.HolderIdentity)
		}
	})
}

// A renewal that was in flight when the leader stopped is applied just before the release. The release is then retried.
func TestReleaseAfterLateRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := testContext(t)
		lease := &testLease{}
		ended := make(chan error)
		go func() {
			ended <- testElection(ctx, t, &testLock{testLease: lease, identity: "a", late: true}).Run(ctx, (&testWork{}).run)
		}()
		pass(time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if state := lease.get(); state.record.HolderIdentity != "" {
			t.Errorf("%q still holds the Lease", state.record.HolderIdentity)
		}
	})
}
