package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	"github.com/mycompany/podmanager/pkg/shard"
)

const (
	shardRights    = "artifacts/shards/rbac.yaml"
	podsOfSharded  = 50
	ownerGauge     = "podmanager_shard_owner"
	podEventsTotal = "podmanager_pod_events_total"
	// dividedFor is how long the shards have to stay divided.
	dividedFor = 2 * time.Second
)

// sharers is PodManager with several replicas, which the workload starts itself.
type sharers struct{ *managers }

func (sharers) launch() (*lab.Process, func() bool, error) { return nil, nil, nil }

// runShards measures replicas that share the work: how fast they create pods together, and which share of the caches and of the watch traffic each
// of them has. It cleans up only if the cluster is kept.
func (b *Bench) runShards(ctx context.Context) error {
	s, err := b.begin(ctx, sharers{b.managers}, 1+len(figures.ReplicaCounts))
	if err != nil {
		return err
	}
	err = s.measureShards(ctx)
	if b.settings.Keep {
		return errors.Join(err, s.leave(ctx))
	}
	return err
}

func (s *step) measureShards(ctx context.Context) error {
	if _, err := s.cluster.Kubectl(ctx, "apply", "-f", shardRights); err != nil {
		return err
	}
	for i, count := range figures.ReplicaCounts {
		// The API server could handle much more, even on a busy machine. The limit is what each replica may send.
		throttle := []string{"-kube-api-qps", fmt.Sprint(figures.SharedQPS), "-kube-api-burst", "1"}
		err := s.withReplicas(ctx, count, throttle, func(all replicas) error {
			if err := s.measureMemory(ctx, figures.SharedNothing, all); err != nil {
				return err
			}
			return s.measureMaking(ctx, s.spaces[1+i], count)
		})
		if err != nil {
			return err
		}
	}
	if err := s.withReplicas(ctx, 1, nil, func(replicas) error { return s.fill(ctx) }); err != nil {
		return err
	}
	for _, count := range figures.ReplicaCounts {
		if err := s.withReplicas(ctx, count, nil, func(all replicas) error { return s.measureCaches(ctx, all) }); err != nil {
			return err
		}
	}
	return nil
}

// measureMaking measures how long it takes until each of many PodManagers has its pod.
func (s *step) measureMaking(ctx context.Context, space string, count int) error {
	if err := s.warmUp(ctx, space); err != nil {
		return err
	}
	owners := s.sizes.Shares
	exist := s.censuses.Pods.Expect(census.AllExist(figures.ShardCount+owners), space)
	s.began = time.Now()
	if err := s.createAllIdle(ctx, space, owners, 1); err != nil {
		return err
	}
	at, err := exist.Await(ctx, patience, "the pods exist")
	if err != nil {
		return err
	}
	s.addShared(figures.SharedMaking, count, figures.Values{figures.ExistTime: s.since(at), figures.PodCount: float64(owners)}, figures.ExistTime)
	return nil
}

// warmUp waits until all shards are active: each of them creates a pod.
func (s *step) warmUp(ctx context.Context, space string) error {
	isWarm := map[shard.Shard]bool{}
	for owner := s.sizes.Shares; len(isWarm) < figures.ShardCount; owner++ {
		part := shard.Of(space, ownerName(owner), figures.ShardCount)
		if isWarm[part] {
			continue
		}
		isWarm[part] = true
		if err := s.createIdle(ctx, space, owner, 1); err != nil {
			return err
		}
	}
	_, err := s.censuses.Pods.Expect(census.AllExist(figures.ShardCount), space).Await(ctx, patience, "each shard has made a pod")
	return err
}

func (s *step) createAllIdle(ctx context.Context, space string, owners, replicas int) error {
	return inParallel(ctx, owners, ownersAtOnce, func(ctx context.Context, i int) error {
		return s.createIdle(ctx, space, i, replicas)
	})
}

// fill lets one replica create the pods that are then divided. They stay unscheduled, so that they do not change.
func (s *step) fill(ctx context.Context) error {
	owners := s.sizes.Sharded / podsOfSharded
	s.say("  1 replica makes %d x %d pods", owners, podsOfSharded)
	if err := s.createAllIdle(ctx, s.spaces[0], owners, podsOfSharded); err != nil {
		return err
	}
	full := s.censuses.Pods.Expect(census.AllExist(owners*podsOfSharded), s.spaces[0])
	if _, err := full.Await(ctx, patience, "the pods exist"); err != nil {
		return err
	}
	told := s.censuses.Managers.Expect(census.AllCounted(owners), s.spaces[0])
	_, err := told.Await(ctx, patience, "the statuses count the pods")
	return err
}

// measureMemory measures the memory of the replicas.
func (s *step) measureMemory(ctx context.Context, workload string, all replicas) error {
	var sizes, own []float64
	for _, p := range all {
		usage, err := p.Usage()
		if err != nil {
			return err
		}
		sizes, own = append(sizes, float64(usage.RSS)), append(own, float64(usage.Anonymous))
	}
	list, err := s.kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1, ResourceVersion: ""})
	if err != nil {
		return err
	}
	pods := float64(len(list.Items))
	if list.RemainingItemCount != nil {
		pods += float64(*list.RemainingItemCount)
	}
	s.addShared(workload, len(all), figures.Values{
		figures.Memory: slices.Max(sizes), figures.MemoryMean: sum(sizes) / float64(len(sizes)), figures.MemoryOwn: slices.Max(own),
		figures.PodCount: pods,
	}, figures.Memory, figures.MemoryMean, figures.MemoryOwn)
	return nil
}

// measureCaches leaves the replicas idle until they have freed unneeded memory. Then it measures the memory of each, and what updates of pods cost
// each of them.
func (s *step) measureCaches(ctx context.Context, all replicas) error {
	if !lab.Pause(ctx, s.sizes.Settle) {
		return ctx.Err()
	}
	if err := s.measureMemory(ctx, figures.SharedCaches, all); err != nil {
		return err
	}
	bytesBefore, eventsBefore, err := all.traffic(ctx)
	if err != nil {
		return err
	}
	if err := s.disturb(ctx, s.spaces[0], s.sizes.Updates, tick); err != nil {
		return err
	}
	if err := s.rest(ctx); err != nil { // for the last events
		return err
	}
	bytes, events, err := all.traffic(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		bytes[i] -= bytesBefore[i]
		events[i] -= eventsBefore[i]
	}
	if sum(events) < float64(s.sizes.Updates) {
		return fmt.Errorf("the replicas received %v of %d updates", events, s.sizes.Updates)
	}
	s.addShared(figures.SharedCaches, len(all), figures.Values{
		figures.Received: slices.Max(bytes), figures.ReceivedMean: sum(bytes) / float64(len(all)),
		figures.PodEvents: slices.Max(events), figures.PodEventsMean: sum(events) / float64(len(all)),
	}, figures.Received, figures.PodEvents)
	return nil
}

func (s *step) addShared(workload string, count int, values figures.Values, shown ...figures.Metric) {
	s.report.Results.Add(workload, strings.TrimPrefix(workload, figures.Sharing), figures.ReplicasName(count), figures.Sample{Values: values})
	text := ""
	for _, m := range shown {
		switch m {
		case figures.ExistTime:
			text += fmt.Sprintf(", %.0f pods exist after %.2f s", values[figures.PodCount], values[m])
		case figures.PodEvents:
			text += fmt.Sprintf(", receives updates of at most %.0f pods", values[m])
		default:
			text += fmt.Sprintf(", %s %.1f MB", m, values[m]/figures.MB)
		}
	}
	s.say("  %-10s  %-10s %s", strings.TrimPrefix(workload, figures.Sharing), figures.ReplicasName(count), text[2:])
}
