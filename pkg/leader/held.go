package leader

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// timedLock records when this process last renewed its Lease.
type timedLock struct {
	resourcelock.Interface

	mu sync.Mutex
	// renewed is when the last successful renewal was sent, by wall clock and monotonic clock. It is zero if this process does not hold the
	// Lease.
	renewed time.Time
}

func (l *timedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.note(time.Time{}) // another replica has taken the Lease, or it was released
	}
	return record, raw, err
}

func (l *timedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

func (l *timedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l *timedLock) write(ctx context.Context, record resourcelock.LeaderElectionRecord,
	request func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	sent := time.Now()
	if record.HolderIdentity != l.Identity() {
		sent = time.Time{} // a release: nothing may be written any more, whatever the response
		l.note(sent)
	}
	if err := request(ctx, record); err != nil {
		return err
	}
	l.note(sent)
	return nil
}

func (l *timedLock) note(renewed time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = renewed
}

// isHeld reports whether this process renewed the Lease less than limit ago.
func (l *timedLock) isHeld(limit time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return isWithin(limit, l.renewed, time.Now())
}

// isWithin reports whether less than limit has passed since a time, by both clocks: the monotonic clock stands still while the machine
// sleeps, and the wall clock can be set back.
func isWithin(limit time.Duration, since, now time.Time) bool {
	return !since.IsZero() && now.Sub(since) < limit && now.Round(0).Sub(since.Round(0)) < limit
}

type heldKey struct{}

// whileHeld returns a context whose requests may write only while isHeld returns true. If ctx was made by whileHeld, its condition applies,
// too.
func whileHeld(ctx context.Context, isHeld func() bool) context.Context {
	outer, isGuarded := ctx.Value(heldKey{}).(func() bool)
	return context.WithValue(ctx, heldKey{}, func() bool { return isHeld() && (!isGuarded || outer()) })
}

var errNotHeld = errors.New("nothing is written: the Lease is not held any more, and another replica may be at work")

// GuardWrites rejects the writes of an Election's work while its Lease is not held. A process that was suspended and resumes finds out before
// it writes, not when it next renews the Lease.
func GuardWrites(next http.RoundTripper) http.RoundTripper {
	return guard{next}
}

type guard struct{ next http.RoundTripper }

func (g guard) RoundTrip(request *http.Request) (*http.Response, error) {
	isHeld, isGuarded := request.Context().Value(heldKey{}).(func() bool)
	if isGuarded && request.Method != http.MethodGet && !isHeld() {
		if request.Body != nil {
			_ = request.Body.Close() // a RoundTripper has to close the body
		}
		return nil, errNotHeld
	}
	return g.next.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find the underlying transport.
func (g guard) WrappedRoundTripper() http.RoundTripper { return g.next }
