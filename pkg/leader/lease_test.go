package leader

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// testLease is the Lease on a fake API server.
type testLease struct {
	mutex sync.Mutex
	leaseState
}

type leaseState struct {
	version int
	record  *resourcelock.LeaderElectionRecord
	renewed time.Time
	freed   time.Time // when a holder last released it
}

func (l *testLease) get() leaseState {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.leaseState
}

// testLock is one candidate's lock on the lease.
type testLock struct {
	*testLease
	identity string
	seen     int
	// cut makes each request hang until its deadline, like a network that drops packets.
	cut bool
	// loses makes each write hang until its deadline after it was applied: the response is lost.
	loses bool
	// late makes a renewal that was in flight arrive just before the release.
	late bool
}

func (l *testLock) request(ctx context.Context) (unlock func(), err error) {
	l.mutex.Lock()
	cut := l.cut
	l.mutex.Unlock()
	if cut {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mutex.Lock()
	return l.mutex.Unlock, nil
}

func (l *testLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	unlock, err := l.request(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	if l.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "test")
	}
	l.seen = l.version
	record := *l.record
	return &record, []byte{byte(l.version)}, nil
}

func (l *testLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

func (l *testLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	unlock, err := l.request(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if l.late && record.HolderIdentity == "" {
		l.late = false
		l.version++
	}
	if l.seen != l.version {
		return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "test", errors.New("changed meanwhile"))
	}
	if record.HolderIdentity == "" {
		l.freed = time.Now()
	} else {
		l.renewed = time.Now()
	}
	l.version++
	l.seen = l.version
	l.record = &record
	if l.loses && record.HolderIdentity != "" {
		l.mutex.Unlock()
		<-ctx.Done()
		l.mutex.Lock()
		return ctx.Err()
	}
	return nil
}

func (l *testLock) RecordEvent(string) {}
func (l *testLock) Identity() string   { return l.identity }
func (l *testLock) Describe() string   { return "test" }

func (l *testLock) set(change func()) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	change()
}
