package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/lab"
)

// sharing is the prefix of the workloads of replicas that share the work. The contenders are named by replicasName.
const (
	sharing        = "shards "
	sharedMaking   = sharing + "throughput"
	sharedNothing  = sharing + "empty"
	sharedCaches   = sharing + "caches"
	shardRights    = "artifacts/shards/rbac.yaml"
	shardCount     = 16
	podsOfSharded  = 50
	ownerGauge     = "podmanager_shard_owner"
	podEventsTotal = "podmanager_pod_events_total"
)

// dividedFor is how long the shards have to stay divided.
const dividedFor = 2 * time.Second

// replicaCounts are how many replicas share the work.
var replicaCounts = []int{1, 2, 4, 8}

func replicasName(count int) string {
	if count == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", count)
}

// sharers is PodManager with several replicas, which the workload starts by itself.
type sharers struct{ *managers }

func (sharers) launch() (*lab.Process, func() bool, error) { return nil, nil, nil }

// runShards lets replicas share the work: it measures how fast they make pods together, and which part of the caches and of the watch
// traffic each of them has. It cleans up only if the cluster is kept.
func (b *bench) runShards(ctx context.Context) error {
	s, err := b.begin(ctx, sharers{b.managers}, 1+len(replicaCounts))
	if err != nil {
		return err
	}
	err = s.measureShards(ctx)
	if b.keep {
		return errors.Join(err, s.leave(ctx))
	}
	return err
}

func (s *step) measureShards(ctx context.Context) error {
	if _, err := s.cluster.Kubectl(ctx, "apply", "-f", shardRights); err != nil {
		return err
	}
	for i, count := range replicaCounts {
		// The API server could take much more: the limit is what each replica is allowed.
		throttle := []string{"-kube-api-qps", "20", "-kube-api-burst", "5"}
		err := s.withReplicas(ctx, count, throttle, func(all replicas) error {
			if err := s.measureMemory(ctx, sharedNothing, all); err != nil {
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
	for _, count := range replicaCounts {
		if err := s.withReplicas(ctx, count, nil, func(all replicas) error { return s.measureCaches(ctx, all) }); err != nil {
			return err
		}
	}
	return nil
}

// replicas are those that run.
type replicas []*lab.Process

// withReplicas starts replicas, calls when they have divided the shards, and stops them.
func (s *step) withReplicas(ctx context.Context, count int, flags []string, call func(replicas) error) error {
	var all replicas
	// The Leases last long: a replica that loses one because the machine is busy would spoil the figures.
	flags = slices.Concat(s.flags, []string{"-leader-elect", "-leader-elect-resource-namespace", leaseSpace, fmt.Sprint("-shards=", shardCount),
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
		return fmt.Errorf("%s: %w", replicasName(count), err)
	}
	return nil
}

// awaitDivided waits until no replica has had two shards more than another for a while, in which the caches fill.
func (r replicas) awaitDivided(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for since := time.Now(); time.Since(since) < dividedFor; {
		held, err := r.held()
		if err != nil || sum(held) != shardCount || slices.Max(held)-slices.Min(held) > 1 {
			since = time.Now()
		}
		if !lab.Pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("the shards are not divided: the replicas hold %v, error %w: %w", held, err, ctx.Err())
		}
	}
	return nil
}

// held is how many shards each replica holds.
func (r replicas) held() ([]float64, error) {
	var held []float64
	for _, p := range r {
		text, err := p.ReadMetrics()
		if err != nil {
			return held, err // it does not serve yet
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

// measureMaking measures how long it takes until each of many PodManagers has its pod.
func (s *step) measureMaking(ctx context.Context, space string, count int) error {
	owners := s.sizes.Shares
	exist := s.censuses.pods.expect(allExist(owners), space)
	s.began = time.Now()
	if err := s.createAllIdle(ctx, space, owners, 1); err != nil {
		return err
	}
	at, err := exist.await(ctx, patience, "the pods exist")
	if err != nil {
		return err
	}
	s.addShared(sharedMaking, count, map[metric]float64{existTime: s.since(at), podCount: float64(owners)}, existTime)
	return nil
}

func (s *step) createAllIdle(ctx context.Context, space string, owners, replicas int) error {
	return inParallel(ctx, owners, ownersAtOnce, func(ctx context.Context, i int) error {
		return s.createIdle(ctx, space, i, replicas)
	})
}

// fill lets one replica make the pods that are then divided. No node takes them, so that they stay as they are.
func (s *step) fill(ctx context.Context) error {
	owners := s.sizes.Sharded / podsOfSharded
	s.progress.say("  1 replica makes %d x %d pods", owners, podsOfSharded)
	if err := s.createAllIdle(ctx, s.spaces[0], owners, podsOfSharded); err != nil {
		return err
	}
	full := s.censuses.pods.expect(allExist(owners*podsOfSharded), s.spaces[0])
	if _, err := full.await(ctx, patience, "the pods exist"); err != nil {
		return err
	}
	told := s.censuses.managers.expect(allCounted(owners), s.spaces[0])
	_, err := told.await(ctx, patience, "the statuses tell")
	return err
}

// measureMemory measures the memory of the replicas.
func (s *step) measureMemory(ctx context.Context, workload string, all replicas) error {
	var sizes []float64
	for _, p := range all {
		usage, err := p.Usage()
		if err != nil {
			return err
		}
		sizes = append(sizes, float64(usage.RSS))
	}
	list, err := s.kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1, ResourceVersion: ""})
	if err != nil {
		return err
	}
	pods := float64(len(list.Items))
	if list.RemainingItemCount != nil {
		pods += float64(*list.RemainingItemCount)
	}
	s.addShared(workload, len(all), map[metric]float64{
		memory: slices.Max(sizes), memoryMean: sum(sizes) / float64(len(sizes)), podCount: pods}, memory, memoryMean)
	return nil
}

// measureCaches leaves the replicas alone until they have freed what they do not need, and measures the memory of each, and what updates
// of pods cost each of them.
func (s *step) measureCaches(ctx context.Context, all replicas) error {
	if !lab.Pause(ctx, s.sizes.Settle) {
		return ctx.Err()
	}
	if err := s.measureMemory(ctx, sharedCaches, all); err != nil {
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
		return fmt.Errorf("the replicas heard of %v of %d updates", events, s.sizes.Updates)
	}
	s.addShared(sharedCaches, len(all), map[metric]float64{
		received: slices.Max(bytes), receivedMean: sum(bytes) / float64(len(all)), heard: slices.Max(events), heardMean: sum(events) / float64(len(all)),
	}, received, heard)
	return nil
}

// traffic is how much each replica has read so far, and of how many pods its caches were told.
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

func (s *step) addShared(workload string, count int, values map[metric]float64, shown ...metric) {
	s.report.Results.add(workload, strings.TrimPrefix(workload, sharing), replicasName(count), sample{Values: values})
	text := ""
	for _, m := range shown {
		switch m {
		case existTime:
			text += fmt.Sprintf(", %.0f pods exist after %.2f s", values[podCount], values[m])
		case heard:
			text += fmt.Sprintf(", hears of %.0f pods at most", values[m])
		default:
			text += fmt.Sprintf(", %s %.1f MB", m, values[m]/mega)
		}
	}
	s.progress.say("  %-10s  %-10s %s", strings.TrimPrefix(workload, sharing), replicasName(count), text[2:])
}
