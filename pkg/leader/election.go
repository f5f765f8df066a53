package leader

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
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
	lock    resourcelock.Interface
	elector *leaderelection.LeaderElector
	// leading receives a context once this process leads; the context is done when the lock is lost.
	leading chan context.Context
}

// NewLock is the lock of this process on the Lease.
func NewLock(client coordinationclient.LeasesGetter, lease Config) (resourcelock.Interface, error) {
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

// New makes this process a candidate that has not stood for election yet.
func New(ctx context.Context, lock resourcelock.Interface, lease Config) (*Election, error) {
	logger := klog.FromContext(ctx)
	e := &Election{lock: lock, leading: make(chan context.Context, 1)}
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

// lead runs work until ctx is done or the lock is lost. If the lock is lost, lead stops the workers with ErrStopNow but does not wait for
// them: the process ends at once, which stops them for certain before the next leader's term.
func (e *Election) lead(ctx, leading context.Context, work Work) error {
	workCtx, stopWork := context.WithCancelCause(ctx)
	defer stopWork(controller.ErrStopNow)
	result := make(chan error, 1)
	go func() { result <- RunAndDrain(workCtx, work) }()
	select {
	case err := <-result:
		return err
	case <-leading.Done():
		return errLeaseLost
	}
}

// Check fails for a leader that has not renewed the lock for longer than the lease duration plus grace, never for a standby.
func (e *Election) Check(grace time.Duration) error {
	return e.elector.Check(grace)
}

// release releases the lock, so that a standby takes over at once instead of after the lease duration. If it fails, the lease expires.
func (e *Election) release(ctx context.Context) {
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
