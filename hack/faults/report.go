package faults

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Report is what the oracle has to say.
type Report struct {
	// Versions is how many versions of objects it rests on.
	Versions int
	// Peak is the most active pods that there were at one version, of all PodManagers together.
	Peak int
	// Peaks is the same for each PodManager, by namespace/name.
	Peaks map[string]int
	// Violations tell, one line each, where an invariant did not hold.
	Violations []string
}

// Report looks at all that has happened up to now. A PodManager may have as many active pods as the largest number of
// replicas wanted of it within the time given: a scale-down takes its time, but not for ever.
func (o *Oracle) Report(ctx context.Context, recent time.Duration) (*Report, error) {
	if err := o.catchUp(ctx); err != nil {
		return nil, err
	}
	o.mu.Lock()
	sightings := slices.Clone(o.sightings)
	o.mu.Unlock()
	slices.SortStableFunc(sightings, func(a, b sighting) int { return cmp.Compare(a.version, b.version) })

	r := newReplay(recent)
	for _, seen := range sightings {
		r.step(seen)
	}
	for uid := range r.managers {
		r.check(uid, sighting{at: time.Now()}) // time alone may have made it one pod too many
	}
	r.report.Versions = len(sightings)
	return r.report, nil
}

// replay is the state of the cluster as of one version.
type replay struct {
	recent   time.Duration
	pods     map[types.UID]*podState
	managers map[types.UID]*managerState
	active   int
	report   *Report
}

type managerState struct {
	name   string
	active int
	// indices has how many pods there are of each index, those that are ending included.
	indices map[string]int
	// wanted are the replicas since a time, oldest first.
	wanted []wanted
}

type wanted struct {
	since    time.Time
	replicas int
}

func newReplay(recent time.Duration) *replay {
	return &replay{
		recent: recent, pods: map[types.UID]*podState{}, managers: map[types.UID]*managerState{},
		report: &Report{Peaks: map[string]int{}},
	}
}

// step goes on by one version.
func (r *replay) step(seen sighting) {
	if seen.pod == nil {
		m := r.manager(seen.uid)
		m.name = seen.name
		if n := len(m.wanted); n == 0 || m.wanted[n-1].replicas != seen.replicas {
			m.wanted = append(m.wanted, wanted{seen.at, seen.replicas})
		}
		return
	}
	if before, found := r.pods[seen.uid]; found {
		r.count(before, -1)
		delete(r.pods, seen.uid)
	}
	if !seen.gone {
		r.pods[seen.uid] = seen.pod
		r.count(seen.pod, +1)
	}
	if seen.pod.owner != "" {
		r.check(seen.pod.owner, seen)
	}
}

func (r *replay) manager(uid types.UID) *managerState {
	m, found := r.managers[uid]
	if !found {
		m = &managerState{indices: map[string]int{}}
		r.managers[uid] = m
	}
	return m
}

func (r *replay) count(pod *podState, change int) {
	if pod.owner == "" {
		return
	}
	m := r.manager(pod.owner)
	m.indices[pod.index] += change
	if pod.active {
		m.active += change
		r.active += change
	}
}

// check looks at one PodManager after a version.
func (r *replay) check(uid types.UID, seen sighting) {
	m := r.managers[uid]
	r.report.Peak = max(r.report.Peak, r.active)
	r.report.Peaks[m.name] = max(r.report.Peaks[m.name], m.active)
	if most := m.most(seen.at.Add(-r.recent)); m.active > most {
		r.violation(seen, "%s has %d active pods, but never wanted more than %d of late", m.name, m.active, most)
	}
	if seen.pod != nil && !seen.gone && seen.pod.index != "" && m.indices[seen.pod.index] > 1 {
		r.violation(seen, "%s has %d pods with index %s", m.name, m.indices[seen.pod.index], seen.pod.index)
	}
}

// most is the largest number of replicas wanted since a time.
func (m *managerState) most(since time.Time) int {
	most := 0
	for i, w := range m.wanted {
		if i+1 == len(m.wanted) || m.wanted[i+1].since.After(since) {
			most = max(most, w.replicas)
		}
	}
	return most
}

func (r *replay) violation(seen sighting, format string, arguments ...any) {
	where := "at the end: "
	if seen.version != 0 {
		where = fmt.Sprintf("at version %d, %s, pod %s: ", seen.version, seen.at.Format("15:04:05.000"), seen.name)
	}
	r.report.Violations = append(r.report.Violations, where+fmt.Sprintf(format, arguments...))
}
