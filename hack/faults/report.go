package faults

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// Report is what the oracle has to say.
type Report struct {
	// Versions is how many versions of objects it rests on; Gaps how often some may have been missed, because the API
	// server was restarted.
	Versions, Gaps int
	// Peak is the most active pods that there were at one version, of all owners together.
	Peak int
	// Peaks is the same for each owner, by namespace/name.
	Peaks      map[string]int
	Violations []Violation
}

// Violation is a place where an invariant did not hold: I1 to I6.
type Violation struct {
	Invariant string
	// Object is the owner or pod that it is about.
	Object string
	What   string
}

func (v Violation) String() string { return v.Invariant + ": " + v.What }

// Report looks at all that has happened up to now. An owner may have as many active pods as the largest number of
// replicas wanted of it within the recent time: a scale-down takes its time, but not for ever. As old may be what a
// status says. For what it leaves undone or tells late, but not for a new pod, a controller is given more time if faults
// have kept it blind.
func (o *Oracle) Report(ctx context.Context, recent, blind time.Duration) (*Report, error) {
	if err := o.catchUp(ctx); err != nil {
		return nil, err
	}
	o.mu.Lock()
	sightings := slices.Clone(o.sightings)
	r := newReplay(recent, blind)
	r.gaps, r.asked = slices.Clone(o.gaps), maps.Clone(o.asked)
	for _, g := range o.guards {
		r.guards = append(r.guards, *g)
	}
	o.mu.Unlock()
	slices.SortStableFunc(sightings, func(a, b sighting) int { return cmp.Compare(a.version, b.version) })

	for _, seen := range sightings {
		r.step(seen)
	}
	for uid := range r.owners {
		r.checkCount(uid, sighting{at: time.Now()}, false) // time alone may have made it one pod too many
	}
	r.report.Versions, r.report.Gaps = len(sightings), len(r.gaps)
	return r.report, nil
}
