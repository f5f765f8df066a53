package leader

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// witness notices that the API server has gone back in time, as after an etcd restore: a Lease is older than it was. Leases are renewed
// every few seconds, so that hardly a restore escapes it, and each look is a read of etcd. Versions do not tell that as well: they are soon
// caught up. A standby may be told twice of one restore: by the old Lease, and by the leader, who has noticed it later. That costs a list.
// It is for one goroutine.
type witness struct {
	// rewound, if not nil, is called if the API server has gone back in time.
	rewound func()
	// last is the Lease as last read or written.
	last resourcelock.LeaderElectionRecord
}

// see takes the Lease as it was read, an empty one if there is none. It tells whether the API server has gone back in time.
func (w *witness) see(ctx context.Context, now resourcelock.LeaderElectionRecord) bool {
	last := w.last
	w.last = now
	if !isRewound(now, last) {
		return false
	}
	klog.FromContext(ctx).Info("The API server has gone back in time, listing anew: a Lease is not what it was",
		"holder", now.HolderIdentity, "acquired", now.AcquireTime, "renewed", now.RenewTime, "renewedBefore", last.RenewTime.Round(0))
	if w.rewound != nil {
		w.rewound()
	}
	return true
}

// isRewound tells whether a Lease cannot have followed the last one. The clocks of two holders do not compare.
func isRewound(now, last resourcelock.LeaderElectionRecord) bool {
	switch {
	case last.RenewTime.IsZero():
		return false
	case now.RenewTime.IsZero():
		return true // from before it was created, unless somebody has deleted it
	case now.HolderIdentity != last.HolderIdentity:
		return now.LeaderTransitions < last.LeaderTransitions
	case !sameTime(now.AcquireTime, last.AcquireTime):
		return now.HolderIdentity != "" // the holder has noticed it, see timedLock.reacquired
	}
	return now.RenewTime.Before(&last.RenewTime) && !sameTime(now.RenewTime, last.RenewTime)
}

// sameTime compares as Leases do, which keep microseconds.
func sameTime(a, b metav1.Time) bool {
	return a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond))
}
