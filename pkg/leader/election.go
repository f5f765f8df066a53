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

// Config says which Lease to hold, and for how long.
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

	// outlivesLoss tells that the process goes on without the lock: the work is stopped, and Run returns when it has stopped.
	outlivesLoss bool
}

// NewLock is the lock of this process on the Lease.
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

// newIdentity is the name of this process: the host name is for people. Without the UUID, two processes on one host could both lead.
func newIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("the host has no name to stand for election with: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// New makes this process a candidate that has not stood for election yet.
func New(ctx context.Context, inner resourcelock.Interface, lease Config) (*Election, error) {
	logger := klog.FromContext(ctx)
	lock := &timedLock{Interface: inner}
	e := &Election{lock: lock, lease: lease, leading: make(chan context.Context, 1)}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:          lease.Name, // of the leader_election_* metrics
		Lock:          lock,
		LeaseDuration: lease.Duration,
		RenewDeadline: lease.RenewDeadline,
		RetryPeriod:   lease.RetryPeriod,
		// client-go would release the lease before it reports that a renewal failed: the workers would go on for up to
		// another renew deadline, into the next leader's term. Run releases the lease instead, after the workers have drained.
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
// then: no worker of this process runs during the next leader's term.
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
		logger.Info("Stopping as a standby")
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
// if the process is to go on: otherwise the process ends at once, which stops them for certain before the next leader's term.
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

// isHeld tells whether the work may write. It must not from the renew deadline on: the time from there to the end of the lease is for
// requests that are still on their way.
func (e *Election) isHeld() bool { return e.lock.isHeld(e.lease.RenewDeadline) }

// Check fails for a leader that has not renewed the lock for longer than the lease duration plus grace, never for a standby.
func (e *Election) Check(grace time.Duration) error {
	return e.elector.Check(grace)
}

// release releases the lock, so that a standby takes over at once instead of after the lease duration. If it fails, the lease expires. A
// conflict is no failure: a renewal that was on its way when the election ended may still be carried out.
func (e *Election) release(ctx context.Context) {
	if !e.lock.mayBeHeld() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "lease", e.lock.Describe())
	isOurs := true
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		record, _, err := e.lock.Get(ctx) // also gets the resourceVersion, so that Update cannot release another holder's lock
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
		logger.Error(err, "Lease not released; it runs out by itself")
	case isOurs:
		logger.Info("Released the lease")
	}
}
