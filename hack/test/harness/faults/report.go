package faults

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// Report is what the oracle has found.
type Report struct {
	// Versions is how many versions of objects the oracle has seen. Gaps is how often it may have missed some because the API server was restarted.
	Versions, Gaps int
	// Peak is the maximum number of active pods at one version, over all owners together.
	Peak int
	// Peaks is the same for each owner, by namespace/name.
	Peaks      map[string]int
	Violations []Violation
}

// Violation is one case in which an invariant, I1 to I7 of hack/chaos, did not hold.
type Violation struct {
	Invariant string
	// Object is the owner or pod for which the invariant did not hold.
	Object string
	What   string
}

func (v Violation) String() string { return v.Invariant + ": " + v.What }

// Report checks all versions up to now. An owner may have as many active pods as the maximum number of replicas that was requested within the
// recent time: a scale-down may take a while, but not forever. A status may be as old as that, too. If faults have kept the controller blind, it
// gets more time to delete pods and to write a status, but not to create pods.
func (o *Oracle) Report(ctx context.Context, recent, blind time.Duration) (*Report, error) {
	if err := o.catchUp(ctx); err != nil {
		return nil, err
	}
	o.mu.Lock()
	sightings := slices.Clone(o.sightings)
	r := newReplay(recent, blind)
	r.gaps, r.asked = slices.Clone(o.gaps), maps.Clone(o.asked)
	o.mu.Unlock()
	slices.SortStableFunc(sightings, func(a, b sighting) int { return cmp.Compare(a.version, b.version) })

	for _, seen := range sightings {
		r.step(seen)
	}
	for uid := range r.owners {
		// The time limit for deleting a surplus pod may have passed since the last version.
		r.checkCount(uid, sighting{at: time.Now()}, false)
	}
	r.report.Versions, r.report.Gaps = len(sightings), len(r.gaps)
	return r.report, nil
}
