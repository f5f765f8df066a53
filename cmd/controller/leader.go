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

// workerDrainTimeout, releaseTimeout and serverShutdownTimeout together have to fit into the Deployment's terminationGracePeriodSeconds
// of 30. workerDrainTimeout is longer than the controller's own syncDrainTimeout of 20 s, after which syncs are cancelled.
const (
	workerDrainTimeout = 25 * time.Second
	releaseTimeout     = 3 * time.Second
)

// After these errors workers may still be running, so the process has to end at once.
var (
	errLeaseLost  = errors.New("the lease was lost: another replica may lead now")
	errNotDrained = fmt.Errorf("the workers did not finish within %v", workerDrainTimeout)
)

// work runs until its context is done, then drains and returns.
type work func(context.Context) error

// runAndDrain runs work, and gives it workerDrainTimeout to return after ctx is done.
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
	case <-time.After(workerDrainTimeout):
		return errNotDrained
	}
}

// election runs work only while this process holds the lock.
type election struct {
	lock    resourcelock.Interface
	elector *leaderelection.LeaderElector
	// leading receives a context once this process leads; the context is done when the lock is lost.
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
		// The host name is for people. Without the UUID, two processes on one host could both lead.
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
		// client-go would release the lease before it reports that a renewal failed: the workers would go on for up to
		// another renew deadline, into the next leader's term. run releases the lease instead, after the workers have drained.
		ReleaseOnCancel: false,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { e.leading <- ctx },
			OnStoppedLeading: func() {}, // run notices that elector.Run returns
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

// run stands for election and, once elected, runs work until ctx is done. It renews the lock while the work drains, and releases it only
// then: no worker of this process runs during the next leader's term.
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

// lead runs work until ctx is done or the lock is lost. If the lock is lost, lead stops the workers with ErrStopNow but does not wait for
// them: the process ends at once, which stops them for certain before the next leader's term.
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

// release releases the lock, so that a standby takes over at once instead of after the lease duration. If it fails, the lease expires.
func (e *election) release(ctx context.Context) {
	if !e.elector.IsLeader() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "lease", e.lock.Describe())
	record, _, err := e.lock.Get(ctx) // also gets the resourceVersion, so that Update cannot release another holder's lock
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
