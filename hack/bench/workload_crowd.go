package main

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/lab"
)

// tick is an annotation that means nothing to anybody.
const tick = "bench.podmanager/tick"

// runCrowd has few pods of ours, alone and then among very many of other people: neither those nor their updates may cost
// anything. Each contender makes a crowd of its own, so that none finds the API server warmed up by another.
func (b *bench) runCrowd(ctx context.Context) error {
	for _, c := range []contender{b.managers.hasty(), b.replicaSets} {
		s, err := b.begin(ctx, c, 2)
		if err == nil {
			err = errors.Join(s.measureCrowd(ctx), s.leave(ctx))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	return nil
}

// measureCrowd measures as often alone as in the crowd, each time with a process that has just been started.
func (s *step) measureCrowd(ctx context.Context) error {
	own, others := s.spaces[0], s.spaces[1]
	few := s.sizes.Few
	if err := s.contender.create(ctx, own, few, replicasOfMany); err != nil {
		return err
	}
	if _, err := s.awaitStatuses(ctx, allGood(few), "the pods are known to be good"); err != nil {
		return err
	}
	size := fmt.Sprintf("%d x %d", few, replicasOfMany)
	for range s.rounds {
		if err := s.measureAmong(ctx, alone, size+" alone", nil); err != nil {
			return err
		}
	}
	if err := s.gather(ctx, others); err != nil {
		return err
	}
	strangers := s.censuses.pods.names(others)
	for range s.rounds {
		if err := s.measureAmong(ctx, crowd, fmt.Sprintf("%s among %d others", size, len(strangers)), strangers); err != nil {
			return err
		}
	}
	return nil
}

// gather makes the pods of other people. No node takes them, so that they are quickly made and nobody else is busy with them.
func (s *step) gather(ctx context.Context, space string) error {
	return inParallel(ctx, s.sizes.Crowd, ownersAtOnce, func(ctx context.Context, i int) error {
		_, err := s.kube.CoreV1().Pods(space).Create(ctx, newStranger(i), metav1.CreateOptions{})
		return err
	})
}

// measureAmong starts the controller anew, and measures its memory, and what updates of strangers cost it.
func (s *step) measureAmong(ctx context.Context, workload, title string, strangers []string) error {
	if err := s.restart(ctx); err != nil {
		return err
	}
	if err := s.mark(ctx); err != nil {
		return err
	}
	if len(strangers) > 0 {
		if err := s.disturb(ctx, s.spaces[1], strangers, s.sizes.Updates, tick); err != nil {
			return err
		}
	}
	taken, err := s.take(ctx, map[metric]float64{})
	if err != nil {
		return err
	}
	s.add(workload, title, taken, memory, cpuTime)
	return nil
}

// restart starts the process anew, and leaves it alone until it is done with what it does at the start.
func (s *step) restart(ctx context.Context) error {
	if err := s.stop(); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	return s.rest(ctx)
}

func (s *step) rest(ctx context.Context) error {
	if !lab.Pause(ctx, s.sizes.Rest) {
		return ctx.Err()
	}
	return nil
}

// disturb updates pods, one after the other, again and again: each time an annotation gets another value.
func (s *step) disturb(ctx context.Context, space string, pods []string, times int, annotation string) error {
	return inParallel(ctx, times, ownersAtOnce, func(ctx context.Context, i int) error {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, annotation, i+1)
		_, err := s.kube.CoreV1().Pods(space).Patch(ctx, pods[i%len(pods)], types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}
