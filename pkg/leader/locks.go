package leader

import (
	"context"
	"errors"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// observedLock is the lock on the Lease of a shard. If this replica has seen the Lease expire, client-go acquires it at once. By itself,
// client-go would wait for another LeaseDuration, because it does not know how long the Lease has not been renewed.
type observedLock struct {
	*resourcelock.LeaseLock
	observer *observer
	// labels returns the labels by which the holder informs the other replicas.
	labels func() map[string]string
}

func (l observedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	if err != nil {
		return record, raw, err
	}
	// The observation may be stale, for example after a watch has stalled. It counts only if the Lease has not changed since.
	known := l.observer.get(l.LeaseMeta.Name)
	if known.isFree(time.Now()) && apiequality.Semantic.DeepEqual(resourcelock.LeaseSpecToLeaderElectionRecord(&known.Spec), record) {
		record.HolderIdentity = ""
	}
	return record, raw, nil
}

func (l observedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.Labels = l.labels()
	return l.LeaseLock.Create(ctx, record)
}

func (l observedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.Labels = l.labels()
	return l.LeaseLock.Update(ctx, record)
}

// sharedLock is the lock on the Lease of a group. All replicas hold it together under one identity, and each of them renews it. A replica
// that stops releases it only if no other replica renews it.
type sharedLock struct {
	*resourcelock.LeaseLock
	// limit is how long a replica relies on the Lease after it has renewed it.
	limit time.Duration
	// renewed is this replica's last renewal, as recorded in the Lease. others is when this replica last saw a renewal by another replica.
	renewed, others time.Time
}

var errShared = errors.New("other replicas hold the Lease, too")

func (l *sharedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	if err == nil && !record.RenewTime.Truncate(time.Microsecond).Equal(l.renewed) {
		l.others = time.Now()
	}
	return record, raw, err
}

func (l *sharedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	isRelease := record.HolderIdentity == ""
	if isRelease && time.Since(l.others) < l.limit {
		return errShared
	}
	err := l.LeaseLock.Update(ctx, record)
	if apierrors.IsConflict(err) && !isRelease {
		// Another replica has most likely renewed the Lease in the meantime.
		if current, _, getErr := l.Get(ctx); getErr == nil && current.HolderIdentity == l.Identity() {
			err = l.LeaseLock.Update(ctx, record)
		}
	}
	if err == nil {
		l.renewed = record.RenewTime.Truncate(time.Microsecond)
	}
	return err
}
