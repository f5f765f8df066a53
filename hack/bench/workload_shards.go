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
	"github.com/mycompany/podmanager/pkg/shard"
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

// sharedQPS is how many requests a second each replica may send.
const sharedQPS = 5

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
		// The API server could take much more, also on a busy machine: the limit is what each replica is allowed.
		throttle := []string{"-kube-api-qps", fmt.Sprint(sharedQPS), "-kube-api-burst", "1"}
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

// measureMaking measures how long it takes until each of many PodManagers has its pod.
func (s *step) measureMaking(ctx context.Context, space string, count int) error {
	if err := s.warmUp(ctx, space); err != nil {
		return err
	}
	owners := s.sizes.Shares
	exist := s.censuses.pods.expect(allExist(shardCount+owners), space)
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

// warmUp waits until all shards are worked on: each makes a pod.
func (s *step) warmUp(ctx context.Context, space string) error {
	isWarm := map[shard.Shard]bool{}
	for owner := s.sizes.Shares; len(isWarm) < shardCount; owner++ {
		part := shard.Of(space, ownerName(owner), shardCount)
		if isWarm[part] {
			continue
		}
		isWarm[part] = true
		if err := s.createIdle(ctx, space, owner, 1); err != nil {
			return err
		}
	}
	_, err := s.censuses.pods.expect(allExist(shardCount), space).await(ctx, patience, "each shard has made a pod")
	return err
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
	s.addShared(workload, len(all), map[metric]float64{
		memory: slices.Max(sizes), memoryMean: sum(sizes) / float64(len(sizes)), memoryOwn: slices.Max(own), podCount: pods}, memory, memoryMean, memoryOwn)
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
