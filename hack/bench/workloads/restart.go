package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// spacesOfMany is the number of namespaces over which the owners are spread, as in a cluster with several users.
const spacesOfMany = 10

// runRestart creates many owners with many pods, and restarts the controller. The contenders use the cluster one after the other, because each of
// them sees all existing pods.
func (b *Bench) runRestart(ctx context.Context) error {
	for _, c := range []contender{b.managers.hasty(), b.replicaSets} {
		if err := b.restartOf(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	return nil
}

func (b *Bench) restartOf(ctx context.Context, c contender) error {
	s, err := b.begin(ctx, c, min(spacesOfMany, b.sizes.Managers))
	if err != nil {
		return err
	}
	return errors.Join(s.measureStarts(ctx), s.leave(ctx))
}

// measureStarts restarts the controller several times. After the last time, it measures the idle controller.
func (s *step) measureStarts(ctx context.Context) error {
	each := max(1, s.sizes.Managers/len(s.spaces))
	if err := s.populate(ctx, each); err != nil {
		return err
	}
	for i := range s.sizes.Starts {
		if err := s.stop(); err != nil {
			return err
		}
		// A controller that starts syncs its owners in no particular order, so a different pod is deleted each time.
		if err := s.measureStart(ctx, s.spaces[i%len(s.spaces)], i*each/s.sizes.Starts, each*len(s.spaces)); err != nil {
			return err
		}
	}
	return s.measureIdle(ctx, each*len(s.spaces))
}

// populate lets the contender create its pods, without measuring.
func (s *step) populate(ctx context.Context, owners int) error {
	all := len(s.spaces) * owners
	s.say("  %s makes %d x %d pods", s.contender.name(), all, replicasOfMany)
	for _, space := range s.spaces {
		if err := s.contender.create(ctx, space, owners, replicasOfMany); err != nil {
			return err
		}
	}
	ready := s.censuses.Pods.Expect(census.AllReady(all*replicasOfMany), s.spaces...)
	if _, err := ready.Await(ctx, patience, "the pods are ready"); err != nil {
		return err
	}
	_, err := s.awaitStatuses(ctx, census.AllGood(all), "the pods are known to be good")
	return err
}

// measureStart deletes a pod while the controller is not running, and measures the time from the controller's start until the pod is replaced.
func (s *step) measureStart(ctx context.Context, space string, owner, owners int) error {
	pods := owners * replicasOfMany
	victim, err := s.podOf(ctx, space, ownerName(owner))
	if err != nil {
		return err
	}
	fewer := s.censuses.Pods.Expect(census.Exactly(pods-1), s.spaces...)
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	if err := s.kube.CoreV1().Pods(space).Delete(ctx, victim, now); err != nil {
		return err
	}
	if _, err := fewer.Await(ctx, patience, "the pod is gone"); err != nil {
		return err
	}
	if err := s.mark(ctx); err != nil {
		return err
	}
	replaced := s.censuses.Pods.Expect(census.AllExist(pods), s.spaces...)
	s.before, s.began = lab.Usage{}, time.Now() // a new process begins with zero usage
	if err := s.start(ctx); err != nil {
		return err
	}
	at, err := replaced.Await(ctx, patience, "the pod is replaced")
	if err != nil {
		return err
	}
	values := figures.Values{figures.StartTime: s.since(at)}
	if _, err := s.censuses.Pods.Expect(census.AllReady(pods), s.spaces...).Await(ctx, patience, "the replacement is ready"); err != nil {
		return err
	}
	if err := s.timeSettled(ctx, owners, values); err != nil {
		return err
	}
	taken, err := s.take(ctx, values)
	if err != nil {
		return err
	}
	s.add(figures.Restart, fmt.Sprintf("restart with %d x %d", owners, replicasOfMany), taken, figures.StartTime)
	return nil
}

// podOf finds a pod of an owner.
func (s *step) podOf(ctx context.Context, space, owner string) (string, error) {
	list, err := s.kube.CoreV1().Pods(space).List(ctx, metav1.ListOptions{LabelSelector: "app=" + owner, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		return "", fmt.Errorf("%s has no pods", owner)
	}
	return list.Items[0].Name, nil
}

// measureIdle measures the controller while nothing happens.
func (s *step) measureIdle(ctx context.Context, owners int) error {
	if err := s.mark(ctx); err != nil {
		return err
	}
	if !lab.Pause(ctx, s.sizes.Idle) {
		return ctx.Err()
	}
	requests, err := s.audit.Read()
	if err != nil {
		return err
	}
	all := requestCounts{}
	all.add(requests, s.contender.made)
	taken, err := s.complete(ctx, figures.Values{}, all)
	if err != nil {
		return err
	}
	s.add(figures.Idle, fmt.Sprintf("%.0f s idle with %d x %d", s.sizes.Idle.Seconds(), owners, replicasOfMany), taken, figures.CPUTime)
	return nil
}
