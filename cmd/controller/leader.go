package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/pkg/controller"
)

// The end of the process has to fit into the Deployment's terminationGracePeriodSeconds of 30: these two, and
// serverShutdownTimeout.
const (
	drainTimeout   = 25 * time.Second
	releaseTimeout = 3 * time.Second
)

// After these the workers may still be at it, so the process has to end without further ado.
var (
	errLeaseLost  = errors.New("the lease was lost: another replica may lead now")
	errNotDrained = fmt.Errorf("the workers did not finish within %v", drainTimeout)
)

// work runs until its context is done, then finishes what it has begun, and returns.
type work func(context.Context) error

// runAndDrain runs work, and after the end of ctx gives it drainTimeout to return.
func runAndDrain(ctx context.Context, run work) error {
	done := make(chan error, 1)
	go func() {
		defer utilruntime.HandleCrashWithContext(ctx)
		done <- run(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(drainTimeout):
		return errNotDrained
	}
}

// election runs work only while this process holds a lock.
type election struct {
	lock    resourcelock.Interface
	elector *leaderelection.LeaderElector
	// leading receives a context that is done when the lock is no longer held.
	leading chan context.Context
}

func newLeaseLock(client coordinationclient.LeasesGetter, lease *LeaseOptions) (resourcelock.Interface, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("the host has no name to stand for election with: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name},
		Client:    client,
		// The host's name is for people. It alone would let two processes on one host both lead.
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}, nil
}

func newElection(ctx context.Context, lock resourcelock.Interface, lease *LeaseOptions) (*election, error) {
	logger := klog.FromContext(ctx)
	e := &election{lock: lock, leading: make(chan context.Context, 1)}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:          lease.Name, // of the leader_election_* metrics
		Lock:          lock,
		LeaseDuration: lease.Duration,
		RenewDeadline: lease.RenewDeadline,
		RetryPeriod:   lease.RetryPeriod,
		// client-go would release before it tells us that a renewal failed: the workers would go on for up to
		// another renew deadline, into the next leader's term. We release by ourselves, after the workers.
		ReleaseOnCancel: false,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { e.leading <- ctx },
			OnStoppedLeading: func() {}, // the end of elector.Run tells the same
			OnNewLeader: func(identity string) {
				if identity != "" && identity != lock.Identity() {
					logger.Info("Standing by", "leader", identity)
				}
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	e.elector = elector
	return e, nil
}

// run stands for election and, once elected, runs work until ctx is done. The lock is renewed while the work drains and
// released only when it has: the next leader never meets a worker of ours.
func (e *election) run(ctx context.Context, run work) error {
	logger := klog.FromContext(ctx)
	electionCtx, stopElection := context.WithCancel(context.WithoutCancel(ctx))
	defer stopElection()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		e.elector.Run(electionCtx)
	}()

	var workErr error
	select {
	case <-ctx.Done():
		logger.Info("Stopping as a standby")
	case leading := <-e.leading:
		logger.Info("Started leading", "identity", e.lock.Identity())
		workErr = e.lead(ctx, leading, run)
		if errors.Is(workErr, errLeaseLost) || errors.Is(workErr, errNotDrained) {
			return workErr
		}
	}
	stopElection()
	<-stopped
	e.release(ctx)
	return workErr
}

// lead runs work until ctx is done or the lock is lost. In the latter case the workers are told to break off, but not
// waited for: the end of the process stops them for certain, and before the next leader's term if it comes at once.
func (e *election) lead(ctx, leading context.Context, run work) error {
	workCtx, stopWork := context.WithCancelCause(ctx)
	defer stopWork(controller.ErrStopNow)
	result := make(chan error, 1)
	go func() { result <- runAndDrain(workCtx, run) }()
	select {
	case err := <-result:
		return err
	case <-leading.Done():
		return errLeaseLost
	}
}

// release lets a standby take over at once instead of after the lease duration. It is a courtesy: if it fails, the
// lease runs out.
func (e *election) release(ctx context.Context) {
	if !e.elector.IsLeader() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "lease", e.lock.Describe())
	record, _, err := e.lock.Get(ctx) // for the resourceVersion, too: nobody else's hold is undone
	if err == nil && record.HolderIdentity != e.lock.Identity() {
		return
	}
	if err == nil {
		now := metav1.Now()
		err = e.lock.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions:    record.LeaderTransitions,
			LeaseDurationSeconds: 1, // as client-go writes it; 0 is not valid
			AcquireTime:          now,
			RenewTime:            now,
		})
	}
	if err != nil {
		logger.Error(err, "Lease not released; it runs out by itself")
		return
	}
	logger.Info("Released the lease")
}
