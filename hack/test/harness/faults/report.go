package faults

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// Report is the judgement of the oracle.
type Report struct {
	// Versions is how many versions of objects the oracle has seen, Gaps how often it may have missed some, because the API
	// server was restarted.
	Versions, Gaps int
	// Peak is the largest number of active pods at one version, of all owners together.
	Peak int
	// Peaks is the same for each owner, by namespace/name.
	Peaks      map[string]int
	Violations []Violation
}

// Violation is a place where an invariant did not hold: I1 to I6.
type Violation struct {
	Invariant string
	// Object is the owner or the pod that broke the invariant.
	Object string
	What   string
}

func (v Violation) String() string { return v.Invariant + ": " + v.What }

// Report judges all versions up to now. An owner may have as many active pods as the largest number of replicas that was asked for
// within the recent time: a scale-down takes its time, but not for ever. A status may be as old as that, too. If faults have kept
// the controller blind, it gets more time to delete pods and to write a status, but not to create pods.
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
		// The time to delete a pod too many may have passed since the last version.
		r.checkCount(uid, sighting{at: time.Now()}, false)
	}
	r.report.Versions, r.report.Gaps = len(sightings), len(r.gaps)
	return r.report, nil
}
