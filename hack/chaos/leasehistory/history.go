package leasehistory

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// History has all versions of Leases, from a watch without a proxy. holders.go answers questions about it.
type History struct {
	mu       sync.Mutex
	versions map[string][]leaseVersion
	// forced are the versions that the harness has written in the name of a holder.
	forced map[string]bool
	// offsets are the clock errors that replicas have had at some time.
	offsets []time.Duration
	err     error
}

// leaseVersion is one version of a Lease. All replicas and the harness are on one machine, so their clocks agree unless the harness has changed
// one. Its times are corrected for that.
type leaseVersion struct {
	version string
	holder  string
	// from is when the holder wrote this version, which is before the API server got it.
	from time.Time
	// until is when it expires.
	until    time.Time
	acquired time.Time
	// toldAcquired is the uncorrected acquire time in the Lease.
	toldAcquired *metav1.MicroTime
	isForced     bool
}

// Follow watches the Leases of a namespace until ctx is done.
func Follow(ctx context.Context, client coordinationclient.LeaseInterface) (*History, error) {
	h := &History{versions: map[string][]leaseVersion{}, forced: map[string]bool{}}
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		h.add(&list.Items[i])
	}
	go h.follow(ctx, client, list.ResourceVersion)
	return h, nil
}

// follow resumes a watch where it ended. The API server is not killed in the meantime, so no version is missed.
func (h *History) follow(ctx context.Context, client coordinationclient.LeaseInterface, version string) {
	for ctx.Err() == nil {
		w, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			lab.Pause(ctx, 100*time.Millisecond)
			continue
		}
		for event := range w.ResultChan() {
			lease, isLease := event.Object.(*coordinationv1.Lease)
			if !isLease {
				h.fail(fmt.Errorf("the watch of Leases has missed versions: %v", event.Object))
				return
			}
			version = lease.ResourceVersion
			if event.Type == watch.Added || event.Type == watch.Modified {
				h.add(lease)
			}
		}
	}
}

func (h *History) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

// Err returns why the history is incomplete, or nil.
func (h *History) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

func (h *History) add(lease *coordinationv1.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	spec := lease.Spec
	now := time.Now()
	v := leaseVersion{version: lease.ResourceVersion, holder: ptr.Deref(spec.HolderIdentity, ""), isForced: h.forced[lease.ResourceVersion],
		from: h.trueTime(spec.RenewTime, now), acquired: h.trueTime(spec.AcquireTime, now), toldAcquired: spec.AcquireTime}
	v.until = v.from.Add(time.Duration(ptr.Deref(spec.LeaseDurationSeconds, 0)) * time.Second)
	known := h.versions[lease.Name]
	// A candidate records the time before it reads the Lease, which may be a moment before the last holder releases it. The API server has accepted
	// the versions in this order.
	if len(known) > 0 {
		last := known[len(known)-1]
		if v.from.Before(last.from) {
			v.from = last.from
		}
		if v.holder == last.holder && v.toldAcquired.Equal(last.toldAcquired) {
			v.acquired = last.acquired
		}
	}
	h.versions[lease.Name] = append(known, v)
}

// ExpectOffset records that the clock of a replica is off by this much from now on, for a while.
func (h *History) ExpectOffset(offset time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.offsets = append(h.offsets, offset)
}

// trueTime corrects the time in a Lease that was written a moment ago. Of the clocks that may have produced it, it assumes the one that makes the
// time closest to now.
func (h *History) trueTime(told *metav1.MicroTime, now time.Time) time.Time {
	best := ptr.Deref(told, metav1.MicroTime{}).Time
	for _, offset := range h.offsets {
		if corrected := told.Add(-offset); now.Sub(corrected).Abs() < now.Sub(best).Abs() {
			best = corrected
		}
	}
	return best
}

// Force overwrites the holder of a Lease, which no replica would do.
func (h *History) Force(ctx context.Context, client coordinationclient.LeaseInterface, name, holder string) error {
	lease, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	now := metav1.NowMicro()
	lease.Spec.HolderIdentity, lease.Spec.AcquireTime, lease.Spec.RenewTime = &holder, &now, &now
	h.mu.Lock()
	defer h.mu.Unlock() // the watch has to wait until it is known who wrote this version
	written, err := client.Update(ctx, lease, metav1.UpdateOptions{})
	if err == nil {
		h.forced[written.ResourceVersion] = true
	}
	return err
}
