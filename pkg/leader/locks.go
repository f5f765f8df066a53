package leader

import (
	"context"
	"errors"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// observedLock is the lock on the Lease of a shard. It lets client-go take a Lease at once that this replica has seen run out. client-go by
// itself would wait for another LeaseDuration, because it looks at the Lease only from now on.
type observedLock struct {
	*resourcelock.LeaseLock
	observer *observer
	// labels are what the holder tells the other replicas.
	labels func() map[string]string
}

func (l observedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	if err != nil {
		return record, raw, err
	}
	// The observed Lease may be old, as after a watch that stood still: it counts only if it is still the same.
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

// sharedLock is the lock on the Lease of a group, which all replicas hold together under one identity. Each renews it, so that a replica
// that is alone releases it, and any other one leaves it to the rest.
type sharedLock struct {
	*resourcelock.LeaseLock
	// limit is how long a replica counts on the Lease after it has renewed it.
	limit time.Duration
	// renewed is this replica's last renewal, as the Lease tells it; others is when it last saw a renewal that was not its own.
	renewed, others time.Time
}

var errShared = errors.New("other replicas hold it, too")

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
		// Another replica has most likely renewed it since.
		if current, _, getErr := l.Get(ctx); getErr == nil && current.HolderIdentity == l.Identity() {
			err = l.LeaseLock.Update(ctx, record)
		}
	}
	if err == nil {
		l.renewed = record.RenewTime.Truncate(time.Microsecond)
	}
	return err
}
