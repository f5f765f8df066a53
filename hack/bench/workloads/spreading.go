package workloads

import (
	"context"
	"fmt"
	"slices"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// spread is the contender PodManager with another default for spreading pods.
type spread struct {
	*managers
	title string
}

func (s spread) name() string { return s.title }

// spreadAs returns PodManager with a value of its flag -default-spreading.
func (b *Bench) spreadAs(value, title string) contender {
	changed := *b.managers
	changed.flags = append(slices.Clone(changed.flags), "-default-spreading="+value)
	return spread{&changed, title}
}

// runSpreading measures what it costs to spread pods whose template does not say how. The constraints make pods larger, and the scheduler has to
// count pods to satisfy them. The scheduler spreads the pods of ReplicaSets without constraints.
func (b *Bench) runSpreading(ctx context.Context) error {
	contenders := []contender{b.spreadAs("auto", figures.Spread), b.spreadAs("none", figures.Unspread), b.replicaSets}
	return b.inTurn(ctx, contenders, func(s *step) error { return s.measureSpreading(ctx, b.sizes.Tens) })
}

func (s *step) measureSpreading(ctx context.Context, owners int) error {
	pods := owners * replicasOfMany
	before, err := s.cluster.Usage(lab.Scheduler)
	if err != nil {
		return err
	}
	ready := s.censuses.Pods.Expect(census.AllReady(pods), s.spaces...)
	if err := s.contender.create(ctx, s.spaces[0], owners, replicasOfMany); err != nil {
		return err
	}
	at, err := ready.Await(ctx, patience, "the pods are ready")
	if err != nil {
		return err
	}
	after, err := s.cluster.Usage(lab.Scheduler)
	if err != nil {
		return err
	}
	values := figures.Values{figures.ReadyTime: s.since(at), figures.PodCount: float64(pods), figures.SchedulerTime: (after.CPU - before.CPU).Seconds()}
	taken, err := s.take(ctx, values)
	if err != nil {
		return err
	}
	s.add(figures.Spreading, fmt.Sprintf("%d x %d", owners, replicasOfMany), taken, figures.ReadyTime, figures.SchedulerTime, figures.CPUTime)
	return nil
}
