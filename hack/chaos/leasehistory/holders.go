package leasehistory

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// forceNoticed is how soon a holder has to notice that another client has overwritten its Lease: at its next renewal, on a busy machine.
const forceNoticed = 3 * time.Second

// mayWrite reports whether a replica held a Lease at a time, and if not, why not.
//
// A replica holds a Lease from when it writes itself as the holder until it releases the Lease, another replica takes it, or it expires. A client
// that overwrites a Lease by force does not hold it, and the last holder cannot know before its next renewal.
func (h *History) mayWrite(lease, replica string, at time.Time) (why string, may bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var current leaseVersion
	var forcedAt time.Time // zero if not after the current version
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
		return "no replica held the Lease yet", false
	case current.holder == "":
		return fmt.Sprintf("the Lease was released at %s, %v before the write", Clock(current.from), ago(at, current.from)), false
	case current.holder != replica:
		return fmt.Sprintf("%s had taken it at %s, %v before the write", current.holder, Clock(current.acquired), ago(at, current.acquired)), false
	case at.After(current.until):
		return fmt.Sprintf("the Lease had run out at %s, %v before the write", Clock(current.until), ago(at, current.until)), false
	case !forcedAt.IsZero() && at.Sub(forcedAt) > forceNoticed:
		return fmt.Sprintf("the Lease was overwritten by force at %s, %v before the write", Clock(forcedAt), ago(at, forcedAt)), false
	}
	return "", true
}

// Handovers returns how often replicas have taken Leases with this prefix.
func (h *History) Handovers(prefix string) int {
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

// IsTakenSince reports whether a replica has taken a Lease after a time.
func (h *History) IsTakenSince(lease string, since time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.versions[lease], func(v leaseVersion) bool { return v.holder != "" && !v.isForced && v.acquired.After(since) })
}

// Gap is a period in which no replica held a Lease, starting with its release.
type Gap struct {
	Lease    string
	From, To time.Time
}

// Gaps returns the gaps of the Leases with this prefix that have ended.
func (h *History) Gaps(prefix string) []Gap {
	h.mu.Lock()
	defer h.mu.Unlock()
	var gaps []Gap
	for name, versions := range h.versions {
		for i := 1; i < len(versions) && strings.HasPrefix(name, prefix); i++ {
			if last, next := versions[i-1], versions[i]; last.holder == "" && !next.isForced {
				gaps = append(gaps, Gap{name, last.from, next.from})
			}
		}
	}
	return gaps
}

// Holders returns the holders of the Leases with this prefix, as of the latest event of the watch.
func (h *History) Holders(prefix string) map[string]string {
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

// Clock formats a time as the messages here and the log of a run do.
func Clock(at time.Time) string { return at.Local().Format("15:04:05.000") }

func ago(now, then time.Time) time.Duration { return now.Sub(then).Round(time.Millisecond) }
