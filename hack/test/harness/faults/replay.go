package faults

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// replay is the state of the cluster as of one version.
type replay struct {
	recent time.Duration
	blind  time.Duration
	pods   map[types.UID]*podState
	owners map[types.UID]*owner
	active int
	gaps   []time.Time
	asked  map[string][]allowance
	report *Report
}

// owner is the state of a PodManager or ReplicaSet.
type owner struct {
	name  string
	count count
	// indices has the number of pods for each index, including terminating pods.
	indices map[string]int
	// allowed has the maximum number of pods since each time, counts has the actual numbers; oldest first.
	allowed []allowance
	counts  []countSince
	// template is the first template. updated is true once there was another one.
	template string
	updated  bool
	// claim is what the status says.
	claim claim
}

type allowance struct {
	since time.Time
	most  int
}

// count is a number of pods.
type count struct{ active, ready int }

type countSince struct {
	since time.Time
	count count
}

func newReplay(recent, blind time.Duration) *replay {
	return &replay{
		recent: recent, blind: blind, pods: map[types.UID]*podState{}, owners: map[types.UID]*owner{},
		report: &Report{Peaks: map[string]int{}},
	}
}

// step advances by one version.
func (r *replay) step(seen sighting) {
	if seen.owner != nil {
		r.stepOwner(seen)
		return
	}
	before, found := r.pods[seen.uid]
	if found {
		r.add(before, -1, seen.at)
		delete(r.pods, seen.uid)
	}
	if found && before.decoy != "" && (seen.gone || seen.pod.decoy != before.decoy) {
		r.violation("I4", seen.name, seen, "a decoy pod was changed or deleted: it was %s, is %s", before.decoy, seen.pod.decoy)
	}
	if !seen.gone {
		r.pods[seen.uid] = seen.pod
		r.add(seen.pod, +1, seen.at)
	}
	if seen.pod.owner != "" {
		isNew := !found && !seen.gone && seen.pod.active
		r.checkCount(seen.pod.owner, seen, isNew)
	}
}

func (r *replay) stepOwner(seen sighting) {
	o := r.owner(seen.uid)
	o.name = seen.name
	first := len(o.allowed) == 0
	if first {
		o.template = seen.owner.template
	}
	o.updated = o.updated || seen.owner.template != o.template
	most := seen.owner.replicas + seen.owner.leaving
	if o.updated {
		most += seen.owner.surge
	}
	if n := len(o.allowed); n == 0 || o.allowed[n-1].most != most {
		o.allowed = append(o.allowed, allowance{seen.at, most})
	}
	if seen.owner.claim != o.claim && !seen.gone {
		o.claim = seen.owner.claim
		if !first { // a new owner has no status yet, and an old status may describe versions that the oracle has not seen
			r.checkClaim(o, seen)
		}
	}
}

func (r *replay) owner(uid types.UID) *owner {
	o, found := r.owners[uid]
	if !found {
		o = &owner{indices: map[string]int{}, counts: []countSince{{}}} // no pods so far
		r.owners[uid] = o
	}
	return o
}

// add adds a pod to the count of its owner, or removes it.
func (r *replay) add(pod *podState, change int, at time.Time) {
	if pod.owner == "" {
		return
	}
	o := r.owner(pod.owner)
	o.name = pod.ownerName
	o.indices[pod.index] += change
	if !pod.active {
		return
	}
	r.active += change
	o.count.active += change
	if pod.ready {
		o.count.ready += change
	}
	o.counts = append(o.counts, countSince{at, o.count})
}

// checkCount checks the number of an owner's pods after a version.
func (r *replay) checkCount(uid types.UID, seen sighting, isNew bool) {
	o := r.owners[uid]
	r.report.Peak = max(r.report.Peak, r.active)
	r.report.Peaks[o.name] = max(r.report.Peaks[o.name], o.count.active)
	since := seen.at.Add(-r.recent)
	if !isNew {
		since = since.Add(-r.blind)
	}
	if most := r.most(o, since); o.count.active > most {
		r.violation("I1", o.name, seen, "%s has %d active pods, but recently never wanted more than %d", o.name, o.count.active, most)
	}
	if seen.pod != nil && !seen.gone && seen.pod.index != "" && o.indices[seen.pod.index] > 1 {
		r.violation("I1", o.name, seen, "%s has %d pods with index %s", o.name, o.indices[seen.pod.index], seen.pod.index)
	}
}

// mixing is how long a sync may take. A controller adds its own writes to the pods that it saw before, so its status may have a count that never
// existed. Such a count is off by at most the number of changes during the sync. (On a busy machine a single request takes half a second.)
const mixing = 5 * time.Second

// checkClaim checks whether a status was true recently.
func (r *replay) checkClaim(o *owner, seen sighting) {
	said := o.claim
	if said.generation > seen.owner.generation {
		r.violation("I5", o.name, seen, "the status is about generation %d, but the latest is %d", said.generation, seen.owner.generation)
	}
	if slices.ContainsFunc(r.gaps, func(gap time.Time) bool { return gap.Sub(seen.at).Abs() < r.recent }) {
		return // it is not known which versions the controller has seen
	}
	since, off := seen.at.Add(-r.recent-r.blind), o.changes(seen.at.Add(-mixing))
	near := func(a, b int) bool { return a-b <= off && b-a <= off }
	if !o.had(since, func(c count) bool { return near(c.active, said.active) }) ||
		!o.had(since, func(c count) bool { return near(c.ready, said.ready) }) {
		r.violation("I5", o.name, seen, "the status says %d pods, %d ready; there are %d, %d ready, and recently there never were that many",
			said.active, said.ready, o.count.active, o.count.ready)
	}
	wanted := seen.owner.replicas
	if said.done && said.generation == seen.owner.generation && !o.had(since, func(c count) bool { return c.active >= wanted }) {
		r.violation("I5", o.name, seen, "the status says Ready, but there were not the %d pods that generation %d wants", wanted, said.generation)
	}
}

// changes returns how often the counts have changed since a time.
func (o *owner) changes(since time.Time) int {
	n := 0
	for i := len(o.counts) - 1; i >= 0 && o.counts[i].since.After(since); i-- {
		n++
	}
	return n
}

// most returns the maximum number of pods allowed since a time. The oracle may have missed a version of the owner in a gap.
func (r *replay) most(o *owner, since time.Time) int {
	most := largest(o.allowed, since)
	if len(r.gaps) > 0 {
		most = max(most, largest(r.asked[o.name], since))
	}
	return most
}

func largest(allowed []allowance, since time.Time) int {
	most := 0
	for i, a := range allowed {
		if i+1 == len(allowed) || allowed[i+1].since.After(since) {
			most = max(most, a.most)
		}
	}
	return most
}

// had reports whether a count since a time satisfies a condition.
func (o *owner) had(since time.Time, right func(count) bool) bool {
	for i := len(o.counts) - 1; i >= 0; i-- {
		if right(o.counts[i].count) {
			return true
		}
		if o.counts[i].since.Before(since) {
			return false
		}
	}
	return false
}

func (r *replay) violation(invariant, object string, seen sighting, format string, arguments ...any) {
	where := "at the end: "
	if seen.version != 0 {
		where = fmt.Sprintf("at version %d, %s, %s: ", seen.version, seen.at.Format("15:04:05.000"), seen.name)
	}
	r.report.Violations = append(r.report.Violations, Violation{invariant, object, where + fmt.Sprintf(format, arguments...)})
}
