package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
)

// liveReadsCounter counts the syncs that had to read from the API server.
const liveReadsCounter = "podmanager_live_reads_total"

// creators returns the contenders that create pods, in the order of their turns.
func (b *Bench) creators() []contender { return []contender{b.managers, b.replicaSets, b.bare} }

// runOne measures one owner of many pods, and its scale-down to zero.
func (b *Bench) runOne(ctx context.Context) error {
	if err := b.calibrate(ctx); err != nil {
		return err
	}
	return b.inTurn(ctx, b.creators(), func(s *step) error {
		if err := s.measureCreate(ctx, figures.CreateOne, 1, b.sizes.One); err != nil {
			return err
		}
		return s.measureScaleDown(ctx, b.sizes.One)
	})
}

// runTens measures many owners of ten pods.
func (b *Bench) runTens(ctx context.Context) error {
	if err := b.calibrate(ctx); err != nil {
		return err
	}
	return b.inTurn(ctx, b.creators(), func(s *step) error { return s.measureCreate(ctx, figures.CreateTens, b.sizes.Tens, replicasOfMany) })
}

// runSingles measures very many owners of one pod.
func (b *Bench) runSingles(ctx context.Context) error {
	if err := b.calibrate(ctx); err != nil {
		return err
	}
	creators := append(b.creators(), b.deployments) // a user who wants one pod and updates of it would choose a Deployment
	return b.inTurn(ctx, creators, func(s *step) error { return s.measureCreate(ctx, figures.CreateSingles, b.sizes.Singles, 1) })
}

// inTurn runs measure for each contender in turn, and cleans up after each of them.
func (b *Bench) inTurn(ctx context.Context, contenders []contender, measure func(*step) error) error {
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
	exist := s.censuses.Pods.Expect(census.AllExist(pods), s.spaces...)
	ready := s.censuses.Pods.Expect(census.AllReady(pods), s.spaces...)
	s.began = time.Now()
	if err := s.contender.create(ctx, s.spaces[0], owners, replicas); err != nil {
		return err
	}
	values := figures.Values{figures.OwnersTime: s.since(time.Now())}
	for _, milestone := range []struct {
		reached *census.Expectation[census.PodState]
		metric  figures.Metric
	}{{exist, figures.ExistTime}, {ready, figures.ReadyTime}} {
		at, err := milestone.reached.Await(ctx, patience, fmt.Sprintf("%d pods: %s", pods, milestone.metric))
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
	if workload == figures.RealCreate {
		title += " on a real node"
	}
	s.add(workload, title, taken, figures.ExistTime, figures.ReadyTime)
	return nil
}

// countEach adds the cost of each PodManager. In the first round with very many of them, it also adds the later cost. That takes as long as pods
// are observed before they are known to be good.
func (s *step) countEach(ctx context.Context, workload string, owners int, values figures.Values) error {
	each := float64(owners)
	values[figures.WritesEach], values[figures.StatusWritesEach] = values[figures.Writes]/each, values[figures.StatusWrites]/each
	found, err := readCounters(ctx, s.process)
	if err != nil {
		return err
	}
	values[figures.LiveReads] = found[liveReadsCounter]
	if workload != figures.CreateSingles || s.report.Results.Find(workload, s.contender.name()) != nil {
		return nil
	}
	at, err := s.awaitStatuses(ctx, census.AllGood(owners), "the pods are known to be good")
	if err != nil {
		return err
	}
	later, err := s.awaitQuiet(ctx)
	if err != nil {
		return err
	}
	values[figures.GoodTime], values[figures.LaterWritesEach] = s.since(at), float64(later.sum(audit.IsWrite))/each
	return nil
}

// timeSettled waits until the statuses match the pods.
func (s *step) timeSettled(ctx context.Context, owners int, values figures.Values) error {
	if s.contender.statuses() == nil {
		return nil
	}
	at, err := s.awaitStatuses(ctx, census.AllSettled(owners), "the statuses say that all is done")
	values[figures.SettledTime] = s.since(at)
	return err
}

// awaitStatuses returns the time at which the statuses meet a condition.
func (s *step) awaitStatuses(ctx context.Context, say func(census.Tally[census.OwnerState]) bool, what string) (time.Time, error) {
	return s.contender.statuses().Expect(say, s.spaces...).Await(ctx, patience, what)
}

// measureScaleDown deletes all pods of one owner.
func (s *step) measureScaleDown(ctx context.Context, pods int) error {
	if err := s.mark(ctx); err != nil {
		return err
	}
	gone := s.censuses.Pods.Expect(census.AllGone, s.spaces...)
	s.began = time.Now()
	if err := s.contender.scale(ctx, s.spaces[0], 0, 0); err != nil {
		return err
	}
	at, err := gone.Await(ctx, patience, "the pods are gone")
	if err != nil {
		return err
	}
	values := figures.Values{figures.GoneTime: s.since(at)}
	if err := s.timeSettled(ctx, 1, values); err != nil {
		return err
	}
	taken, err := s.take(ctx, values)
	if err != nil {
		return err
	}
	s.add(figures.ScaleDown, fmt.Sprintf("%d -> 0", pods), taken, figures.GoneTime)
	return nil
}

// add adds a sample to the report, and prints some of its values.
func (s *step) add(workload, title string, taken figures.Sample, shown ...figures.Metric) {
	s.report.Results.Add(workload, title, s.contender.name(), taken)
	text := ""
	for _, m := range shown {
		if m == figures.Memory {
			text += fmt.Sprintf(", %s %.1f MB", m, taken.Values[m]/figures.MB)
		} else {
			text += fmt.Sprintf(", %s %.2f s", m, taken.Values[m])
		}
	}
	s.say("  %-10s  %-20s %s", title, s.contender.name(), text[2:])
}

// calibrate determines, once, the number of workers with which the limit is fastest.
func (b *Bench) calibrate(ctx context.Context) error {
	if b.bare.workers > 0 {
		return nil
	}
	best := time.Duration(0)
	fastest := 0
	for _, workers := range []int{16, 32, 64} {
		b.bare.workers = workers
		err := b.inTurn(ctx, []contender{b.bare}, func(s *step) error {
			exist := b.censuses.Pods.Expect(census.AllExist(b.sizes.Calibration), s.spaces...)
			began := time.Now()
			if err := b.bare.create(ctx, s.spaces[0], 1, b.sizes.Calibration); err != nil {
				return err
			}
			at, err := exist.Await(ctx, patience, "the pods exist")
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
	b.say("  bare requests are the fastest with %d at a time", fastest)
	return nil
}
