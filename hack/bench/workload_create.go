package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mycompany/podmanager/hack/audit"
)

// liveReadsCounter counts the syncs that had to read from the API server.
const liveReadsCounter = "podmanager_live_reads_total"

// creators are the contenders that create pods, in the order of their turns.
func (b *bench) creators() []contender { return []contender{b.managers, b.replicaSets, b.bare} }

// runOne is one owner of many pods, and then of none.
func (b *bench) runOne(ctx context.Context) error {
	if err := b.calibrate(ctx); err != nil {
		return err
	}
	return b.inTurn(ctx, b.creators(), func(s *step) error {
		if err := s.measureCreate(ctx, createOne, 1, b.sizes.One); err != nil {
			return err
		}
		return s.measureScaleDown(ctx, b.sizes.One)
	})
}

// runTens is many owners of ten pods.
func (b *bench) runTens(ctx context.Context) error {
	if err := b.calibrate(ctx); err != nil {
		return err
	}
	return b.inTurn(ctx, b.creators(), func(s *step) error { return s.measureCreate(ctx, createTens, b.sizes.Tens, replicasOfMany) })
}

// runSingles is very many owners of one pod.
func (b *bench) runSingles(ctx context.Context) error {
	if err := b.calibrate(ctx); err != nil {
		return err
	}
	creators := append(b.creators(), b.deployments) // somebody who wants one pod and its updates would take one of these
	return b.inTurn(ctx, creators, func(s *step) error { return s.measureCreate(ctx, createSingles, b.sizes.Singles, 1) })
}

// inTurn gives each contender its turn, and cleans up after it.
func (b *bench) inTurn(ctx context.Context, contenders []contender, measure func(*step) error) error {
	for _, c := range contenders {
		s, err := b.begin(ctx, c, 1)
		if err == nil {
			err = errors.Join(measure(s), s.leave(ctx))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	return nil
}

// measureCreate creates owners and waits for their pods.
func (s *step) measureCreate(ctx context.Context, workload string, owners, replicas int) error {
	pods := owners * replicas
	exist := s.censuses.pods.expect(allExist(pods), s.spaces...)
	ready := s.censuses.pods.expect(allReady(pods), s.spaces...)
	s.began = time.Now()
	if err := s.contender.create(ctx, s.spaces[0], owners, replicas); err != nil {
		return err
	}
	values := map[metric]float64{ownersTime: s.since(time.Now())}
	for _, milestone := range []struct {
		reached *expectation[podState]
		metric  metric
	}{{exist, existTime}, {ready, readyTime}} {
		at, err := milestone.reached.await(ctx, patience, fmt.Sprintf("%d pods: %s", pods, milestone.metric))
		if err != nil {
			return err
		}
		values[milestone.metric] = s.since(at)
	}
	if err := s.timeSettled(ctx, owners, values); err != nil {
		return err
	}
	taken, err := s.take(ctx, values)
	if err != nil {
		return err
	}
	if s.contender == s.managers {
		if err := s.countEach(ctx, workload, owners, values); err != nil {
			return err
		}
	}
	title := fmt.Sprintf("%d x %d", owners, replicas)
	if workload == realCreate {
		title += " on a real node"
	}
	s.add(workload, title, taken, existTime, readyTime)
	return nil
}

// countEach adds what each PodManager cost, and, in the first round with very many of them, what it costs later on: that takes as
// long as pods are looked at before they are known to be good.
func (s *step) countEach(ctx context.Context, workload string, owners int, values map[metric]float64) error {
	each := float64(owners)
	values[writesEach], values[statusWritesEach] = values[writes]/each, values[statusWrites]/each
	found, err := readCounters(ctx, s.process)
	if err != nil {
		return err
	}
	values[liveReads] = found[liveReadsCounter]
	if workload != createSingles || s.report.Results.find(workload, s.contender.name()) != nil {
		return nil
	}
	at, err := s.awaitStatuses(ctx, allGood(owners), "the pods are known to be good")
	if err != nil {
		return err
	}
	later, err := s.awaitQuiet(ctx)
	if err != nil {
		return err
	}
	values[goodTime], values[laterWritesEach] = s.since(at), float64(later.sum(audit.IsWrite))/each
	return nil
}

// timeSettled waits until the statuses say what is the case.
func (s *step) timeSettled(ctx context.Context, owners int, values map[metric]float64) error {
	if s.contender.statuses() == nil {
		return nil
	}
	at, err := s.awaitStatuses(ctx, allSettled(owners), "the statuses say that all is done")
	values[settledTime] = s.since(at)
	return err
}

// awaitStatuses returns the time at which the statuses say something.
func (s *step) awaitStatuses(ctx context.Context, say func(tally[ownerState]) bool, what string) (time.Time, error) {
	return s.contender.statuses().expect(say, s.spaces...).await(ctx, patience, what)
}

// measureScaleDown sends all pods of one owner away.
func (s *step) measureScaleDown(ctx context.Context, pods int) error {
	if err := s.mark(ctx); err != nil {
		return err
	}
	gone := s.censuses.pods.expect(allGone, s.spaces...)
	s.began = time.Now()
	if err := s.contender.scale(ctx, s.spaces[0], 0, 0); err != nil {
		return err
	}
	at, err := gone.await(ctx, patience, "the pods are gone")
	if err != nil {
		return err
	}
	values := map[metric]float64{goneTime: s.since(at)}
	if err := s.timeSettled(ctx, 1, values); err != nil {
		return err
	}
	taken, err := s.take(ctx, values)
	if err != nil {
		return err
	}
	s.add(scaleDown, fmt.Sprintf("%d -> 0", pods), taken, goneTime)
	return nil
}

// add puts a sample into the report and says what it shows.
func (s *step) add(workload, title string, taken sample, shown ...metric) {
	s.report.Results.add(workload, title, s.contender.name(), taken)
	text := ""
	for _, m := range shown {
		if m == memory {
			text += fmt.Sprintf(", %s %.1f MB", m, taken.Values[m]/mega)
		} else {
			text += fmt.Sprintf(", %s %.2f s", m, taken.Values[m])
		}
	}
	s.progress.say("  %-10s  %-20s %s", title, s.contender.name(), text[2:])
}

// calibrate finds out, once, how many workers make the limit the fastest.
func (b *bench) calibrate(ctx context.Context) error {
	if b.bare.workers > 0 {
		return nil
	}
	best := time.Duration(0)
	fastest := 0
	for _, workers := range []int{16, 32, 64} {
		b.bare.workers = workers
		err := b.inTurn(ctx, []contender{b.bare}, func(s *step) error {
			exist := b.censuses.pods.expect(allExist(b.sizes.Calibration), s.spaces...)
			began := time.Now()
			if err := b.bare.create(ctx, s.spaces[0], 1, b.sizes.Calibration); err != nil {
				return err
			}
			at, err := exist.await(ctx, patience, "the pods exist")
			if took := at.Sub(began); err == nil && (fastest == 0 || took < best) {
				best, fastest = took, workers
			}
			return err
		})
		if err != nil {
			b.bare.workers = 0
			return err
		}
	}
	b.bare.workers = fastest
	b.report.Workers = fastest
	b.progress.say("  bare requests are the fastest with %d at a time", fastest)
	return nil
}
