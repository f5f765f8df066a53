package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/lab"
)

// leaseHistory has all versions of Leases, from a watch past all proxies.
type leaseHistory struct {
	mu       sync.Mutex
	versions map[string][]leaseVersion
	// forced are the versions that the harness has written in the name of a holder.
	forced map[string]bool
	// offsets are by how much the clocks of replicas were set wrong at some time.
	offsets []time.Duration
	err     error
}

// leaseVersion is one version of a Lease. All replicas and the harness are on one machine, so that their clocks agree, unless the harness
// has set one: its times are corrected.
type leaseVersion struct {
	version string
	holder  string
	// from is when the holder wrote this version: before the API server had it.
	from time.Time
	// until is when it runs out.
	until    time.Time
	acquired time.Time
	// toldAcquired is what the Lease says about that.
	toldAcquired *metav1.MicroTime
	isForced     bool
}

// followLeases watches the Leases of a namespace until ctx is done.
func followLeases(ctx context.Context, client coordinationclient.LeaseInterface) (*leaseHistory, error) {
	h := &leaseHistory{versions: map[string][]leaseVersion{}, forced: map[string]bool{}}
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

// follow takes up a watch that ends where it ended. The API server is not killed meanwhile, so that no version is missed.
func (h *leaseHistory) follow(ctx context.Context, client coordinationclient.LeaseInterface, version string) {
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

func (h *leaseHistory) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

// failure tells whether the history is incomplete.
func (h *leaseHistory) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

func (h *leaseHistory) add(lease *coordinationv1.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	spec := lease.Spec
	now := time.Now()
	v := leaseVersion{version: lease.ResourceVersion, holder: ptr.Deref(spec.HolderIdentity, ""), isForced: h.forced[lease.ResourceVersion],
		from: h.trueTime(spec.RenewTime, now), acquired: h.trueTime(spec.AcquireTime, now), toldAcquired: spec.AcquireTime}
	v.until = v.from.Add(time.Duration(ptr.Deref(spec.LeaseDurationSeconds, 0)) * time.Second)
	known := h.versions[lease.Name]
	// A candidate notes the time before it reads the Lease, which may be a moment before the last holder releases it. The API server has
	// accepted the versions in this order.
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

// expectOffset tells that the clock of a replica is wrong by this much from now on, for a while.
func (h *leaseHistory) expectOffset(offset time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.offsets = append(h.offsets, offset)
}

// trueTime corrects the time of a Lease that was written a moment ago: of the clocks that may have told it, it was the one that makes it the
// most recent.
func (h *leaseHistory) trueTime(told *metav1.MicroTime, now time.Time) time.Time {
	best := ptr.Deref(told, metav1.MicroTime{}).Time
	for _, offset := range h.offsets {
		if corrected := told.Add(-offset); now.Sub(corrected).Abs() < now.Sub(best).Abs() {
			best = corrected
		}
	}
	return best
}

// force overwrites the holder of a Lease, which no replica would do.
func (h *leaseHistory) force(ctx context.Context, client coordinationclient.LeaseInterface, name, holder string) error {
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

// forceNoticed is how soon a holder has to find out that somebody has overwritten its Lease: at its next renewal, on a busy machine.
const forceNoticed = 3 * time.Second

// mayWrite tells whether a replica held a Lease at a time, and if not, why not.
//
// It did from when it wrote that it holds the Lease until it wrote that it does not, another replica took it, or it ran out. Whoever
// overwrites a Lease by force takes nothing, and the last holder cannot know before it next renews the Lease.
func (h *leaseHistory) mayWrite(lease, replica string, at time.Time) (why string, may bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var current leaseVersion
	var forcedAt time.Time // if after the current version
	for _, v := range h.versions[lease] {
		switch {
		case v.from.After(at):
		case !v.isForced:
			current, forcedAt = v, time.Time{}
		case forcedAt.IsZero():
			forcedAt = v.from
		}
	}
	switch {
	case current.version == "":
		return "nobody held it yet", false
	case current.holder == "":
		return fmt.Sprintf("it was released at %s, %v before", clock(current.from), ago(at, current.from)), false
	case current.holder != replica:
		return fmt.Sprintf("%s had taken it at %s, %v before", current.holder, clock(current.acquired), ago(at, current.acquired)), false
	case at.After(current.until):
		return fmt.Sprintf("it had run out at %s, %v before", clock(current.until), ago(at, current.until)), false
	case !forcedAt.IsZero() && at.Sub(forcedAt) > forceNoticed:
		return fmt.Sprintf("it was overwritten by force at %s, %v before", clock(forcedAt), ago(at, forcedAt)), false
	}
	return "", true
}

// handovers is how often replicas have taken Leases with this prefix.
func (h *leaseHistory) handovers(prefix string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	count := 0
	for name, versions := range h.versions {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		var last leaseVersion
		for _, v := range versions {
			if v.holder != "" && !v.isForced && (v.holder != last.holder || !v.acquired.Equal(last.acquired)) {
				count++
			}
			last = v
		}
	}
	return count
}

// isTakenSince tells whether a replica has taken a Lease after a time.
func (h *leaseHistory) isTakenSince(lease string, since time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.versions[lease], func(v leaseVersion) bool { return v.holder != "" && !v.isForced && v.acquired.After(since) })
}

// leaseGap is a time in which nobody held a Lease, from its release on.
type leaseGap struct {
	lease    string
	from, to time.Time
}

// gaps are the gaps of the Leases with this prefix that have ended.
func (h *leaseHistory) gaps(prefix string) []leaseGap {
	h.mu.Lock()
	defer h.mu.Unlock()
	var gaps []leaseGap
	for name, versions := range h.versions {
		for i := 1; i < len(versions) && strings.HasPrefix(name, prefix); i++ {
			if last, next := versions[i-1], versions[i]; last.holder == "" && !next.isForced {
				gaps = append(gaps, leaseGap{name, last.from, next.from})
			}
		}
	}
	return gaps
}

// holders are who holds the Leases with this prefix, as far as the watch has come.
func (h *leaseHistory) holders(prefix string) map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	holders := map[string]string{}
	for name, versions := range h.versions {
		if strings.HasPrefix(name, prefix) {
			holders[name] = versions[len(versions)-1].holder
		}
	}
	return holders
}

// firstHolder is who held a Lease first.
func (h *leaseHistory) firstHolder(lease string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if versions := h.versions[lease]; len(versions) > 0 {
		return versions[0].holder
	}
	return ""
}

func clock(at time.Time) string { return at.Local().Format("15:04:05.000") }

func ago(now, then time.Time) time.Duration { return now.Sub(then).Round(time.Millisecond) }
