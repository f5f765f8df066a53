package leader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/pkg/controller"
)

// Config is the Lease to hold and the timing of its renewals.
type Config struct {
	Namespace     string
	Name          string
	Duration      time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration
}

// Election runs work only while this process holds the lock.
type Election struct {
	lock    *timedLock
	lease   Config
	elector *leaderelection.LeaderElector
	// leading receives a context once this process leads; the context is done when the lock is lost.
	leading chan context.Context

	// outlivesLoss means that the process goes on if it loses the lock: Run stops the work, and returns when the work has stopped.
	outlivesLoss bool
}

// NewLock returns this process's lock on the Lease.
func NewLock(client coordinationclient.LeasesGetter, lease Config) (resourcelock.Interface, error) {
	identity, err := newIdentity()
	if err != nil {
		return nil, err
	}
	return newLock(client, lease, identity), nil
}

func newLock(client coordinationclient.LeasesGetter, lease Config, identity string) *resourcelock.LeaseLock {
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
}

// newIdentity returns a unique name for this process. The host name is for people. Without the UUID, two processes on one host could both
// lead.
func newIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("getting the host name, which identifies this process in the leader election: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// New returns a candidate for the lock. The candidate stands for election when Run is called.
func New(ctx context.Context, inner resourcelock.Interface, lease Config) (*Election, error) {
	logger := klog.FromContext(ctx)
	lock := &timedLock{Interface: inner}
	e := &Election{lock: lock, lease: lease, leading: make(chan context.Context, 1)}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:          lease.Name, // labels the leader_election_* metrics
		Lock:          lock,
		LeaseDuration: lease.Duration,
		RenewDeadline: lease.RenewDeadline,
		RetryPeriod:   lease.RetryPeriod,
		// If a renewal fails, client-go would release the lease before it reports the failure. The workers would go on for up to another
		// renew deadline, into the next leader's term. Run releases the lease instead, after the workers have drained.
		ReleaseOnCancel: false,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { e.leading <- ctx },
			OnStoppedLeading: func() {}, // Run notices that elector.Run returns
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

// Run stands for election and, once elected, runs work until ctx is done. It renews the lock while the work drains, and releases it only
// after that: no worker of this process runs during the next leader's term.
func (e *Election) Run(ctx context.Context, work Work) error {
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
		logger.Info("Stopping: this process was a standby, and did not become the leader")
	case leading := <-e.leading:
		logger.Info("Started leading", "identity", e.lock.Identity())
		workErr = e.lead(ctx, leading, work)
		if MustExit(workErr) {
			return workErr
		}
	}
	stopElection()
	<-stopped
	e.release(ctx)
	return workErr
}

// lead runs work until ctx is done or the lock is lost. If the lock is lost, lead stops the workers with ErrStopNow. It waits for them only
// if the process outlives the loss. Otherwise the process exits at once, which is certain to stop them before the next leader's term.
func (e *Election) lead(ctx, leading context.Context, work Work) error {
	workCtx, stopWork := context.WithCancelCause(whileHeld(ctx, e.isHeld))
	defer stopWork(controller.ErrStopNow)
	result := make(chan error, 1)
	go func() { result <- RunAndDrain(workCtx, work) }()
	select {
	case err := <-result:
		return err
	case <-leading.Done():
	}
	if !e.outlivesLoss {
		return errLeaseLost
	}
	stopWork(controller.ErrStopNow)
	if err := <-result; MustExit(err) {
		return err
	}
	return errOutlived
}

// isHeld reports whether the work may write. It may not from the renew deadline on: the time from then until the lease expires is for
// requests in flight.
func (e *Election) isHeld() bool { return e.lock.isHeld(e.lease.RenewDeadline) }

// Check returns an error if this process leads and has not renewed the lock for longer than the lease duration plus grace. It never fails for
// a standby.
func (e *Election) Check(grace time.Duration) error {
	return e.elector.Check(grace)
}

// release releases the lock if this process holds it, so that a standby takes over at once instead of after the lease duration. It first reads the
// Lease, because a request to acquire the lock may have been applied although its response was lost. If the release fails, the lease expires. A
// conflict is retried, because a renewal that was in flight when the election ended may still be applied.
func (e *Election) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "lease", e.lock.Describe())
	isOurs := true
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		record, _, err := e.lock.Get(ctx) // also reads the resourceVersion, so that Update cannot release another holder's lock
		if isOurs = err != nil || record.HolderIdentity == e.lock.Identity(); err != nil || !isOurs {
			return err
		}
		now := metav1.Now()
		return e.lock.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions:    record.LeaderTransitions,
			LeaseDurationSeconds: 1, // as client-go writes it; 0 is not valid
			AcquireTime:          now,
			RenewTime:            now,
		})
	})
	switch {
	case errors.Is(err, errShared):
	case err != nil:
		logger.Error(err, "Failed to release the Lease; if this process holds it, it will expire")
	case isOurs:
		logger.Info("Released the lease")
	}
}
