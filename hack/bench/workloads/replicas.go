package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// replicas has the running replicas.
type replicas []*lab.Process

// withReplicas starts replicas, calls the function when they have divided the shards, and stops them.
func (s *step) withReplicas(ctx context.Context, count int, flags []string, call func(replicas) error) error {
	var all replicas
	// The Leases last long: a replica that loses one because the machine is busy would distort the figures.
	flags = slices.Concat(s.settings.Flags, []string{"-leader-elect", "-leader-elect-resource-namespace", leaseSpace, fmt.Sprint("-shards=", figures.ShardCount),
		"-leader-elect-lease-duration=3m", "-leader-elect-renew-deadline=2m"}, flags)
	var err error
	for range count {
		var p *lab.Process
		if p, _, err = s.cluster.LaunchOurs(flags...); err != nil {
			break
		}
		all = append(all, p)
	}
	if err == nil {
		err = all.awaitDivided(ctx)
	}
	if err == nil {
		err = call(all)
	}
	for _, p := range all {
		err = errors.Join(err, p.Stop())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", figures.ReplicasName(count), err)
	}
	return nil
}

// awaitDivided waits until the shards have been evenly divided for a while: no replica holds two more than another. Meanwhile the caches fill.
func (r replicas) awaitDivided(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for since := time.Now(); time.Since(since) < dividedFor; {
		held, err := r.held()
		if err != nil || sum(held) != figures.ShardCount || slices.Max(held)-slices.Min(held) > 1 {
			since = time.Now()
		}
		if !lab.Pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("the shards are not divided: the replicas hold %v, error %w: %w", held, err, ctx.Err())
		}
	}
	return nil
}

// held returns how many shards each replica holds.
func (r replicas) held() ([]float64, error) {
	var held []float64
	for _, p := range r {
		text, err := p.ReadMetrics()
		if err != nil {
			return held, err // the replica does not serve yet
		}
		held = append(held, sumOf(ownerGauge, text))
	}
	return held, nil
}

func sum(values []float64) float64 {
	total := 0.0
	for _, value := range values {
		total += value
	}
	return total
}

// traffic returns how much each replica has read so far, and how many pod events its caches have received.
func (r replicas) traffic(ctx context.Context) (bytes, events []float64, err error) {
	for _, p := range r {
		read, err := p.Received()
		if err != nil {
			return nil, nil, err
		}
		found, err := readCounters(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		bytes, events = append(bytes, float64(read)), append(events, found[podEventsTotal])
	}
	return bytes, events, nil
}
