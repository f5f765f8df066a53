package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// runGrowth fills the cluster, and measures at each size what a change of one small PodManager costs. That must not depend on what else is in the
// cluster. It cleans up only if the cluster is kept, because that would take minutes.
func (b *Bench) runGrowth(ctx context.Context) error {
	s, err := b.begin(ctx, b.managers, 2)
	if err != nil {
		return err
	}
	err = s.measureGrowth(ctx)
	if b.settings.Keep {
		return errors.Join(err, s.leave(ctx))
	}
	return errors.Join(err, s.stop())
}

func (s *step) measureGrowth(ctx context.Context) error {
	if err := s.createIdle(ctx, s.small(), 0, 3); err != nil {
		return err
	}
	each := min(500, s.sizes.Growth[0])
	owners := 0
	for _, pods := range s.sizes.Growth {
		for ; owners < pods/each; owners++ {
			if err := s.createIdle(ctx, s.spaces[0], owners, each); err != nil {
				return err
			}
		}
		filled := s.censuses.Pods.Expect(census.AllExist(owners*each), s.spaces[0])
		if _, err := filled.Await(ctx, patience, "the cluster is full"); err != nil {
			return err
		}
		if err := s.measureSyncs(ctx, owners*each); err != nil {
			return err
		}
	}
	return nil
}

// small returns the namespace of the PodManager that is measured.
func (s *step) small() string { return s.spaces[1] }

func (s *step) createIdle(ctx context.Context, space string, owner, replicas int) error {
	client := s.clients.podManagers.AppsV1().PodManagers(space)
	_, err := client.Create(ctx, newIdleManager(ownerName(owner), replicas), metav1.CreateOptions{})
	return err
}

// measureSyncs changes the replicas of the small PodManager between 3 and 4 many times. It restarts the controller first, so that the memory
// reflects the caches, not how they were filled.
//
// Each batch is a sample, and the median of all batches counts. A garbage collection of the Go runtime costs more in a large cluster, but happens
// correspondingly less often, so that some batches contain one and others do not.
func (s *step) measureSyncs(ctx context.Context, pods int) error {
	if _, err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := s.changeReplicas(ctx, s.sizes.Operations); err != nil { // warm up
		return err
	}
	title := fmt.Sprintf("%d pods", pods)
	for range s.sizes.Batches {
		if err := s.mark(ctx); err != nil {
			return err
		}
		before, err := readSyncs(ctx, s.process)
		if err != nil {
			return err
		}
		if err := s.changeReplicas(ctx, s.sizes.Operations); err != nil {
			return err
		}
		after, err := readSyncs(ctx, s.process)
		if err != nil {
			return err
		}
		taken, err := s.complete(ctx, figures.Values{figures.SyncMillis: after.since(before)}, nil)
		if err != nil {
			return err
		}
		taken.Values[figures.CPUMillis] = 1000 * taken.Values[figures.CPUTime] / float64(s.sizes.Operations)
		s.report.Results.Add(figures.Growth+title, title, figures.Ours, taken)
	}
	sync, _ := s.report.Results.Median(figures.Growth+title, figures.Ours, figures.SyncMillis)
	cpu, _ := s.report.Results.Median(figures.Growth+title, figures.Ours, figures.CPUMillis)
	s.say("  %-10s  a sync takes %.1f ms, a change %.1f ms of CPU", title, sync, cpu)
	return nil
}

// changeReplicas changes the replicas repeatedly, and waits each time until the pods and the status have followed.
func (s *step) changeReplicas(ctx context.Context, times int) error {
	for i := range times {
		replicas := 4 - i%2
		if err := s.contender.scale(ctx, s.small(), 0, replicas); err != nil {
			return err
		}
		there := s.censuses.Pods.Expect(census.Exactly(replicas), s.small())
		if _, err := there.Await(ctx, time.Minute, fmt.Sprintf("there are %d pods", replicas)); err != nil {
			return err
		}
		told := s.censuses.Managers.Expect(census.AllCounted(1), s.small())
		if _, err := told.Await(ctx, time.Minute, "the status counts the pods"); err != nil {
			return err
		}
	}
	return nil
}

const syncHistogram = "podmanager_reconcile_duration_seconds"

// syncs is the number of syncs, and the time that they took.
type syncs struct{ seconds, count float64 }

// since returns how long a sync has taken on average since before, in milliseconds.
func (s syncs) since(before syncs) float64 {
	return 1000 * (s.seconds - before.seconds) / max(1, s.count-before.count)
}

// readSyncs reads the number and the duration of syncs from the metrics.
func readSyncs(ctx context.Context, process *lab.Process) (syncs, error) {
	found, err := readCounters(ctx, process)
	return syncs{seconds: found[syncHistogram+"_sum"], count: found[syncHistogram+"_count"]}, err
}
