package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// patience is how long one wait may take. The longest one is for 50 000 pods on a slow machine.
const patience = 20 * time.Minute

// step is the turn of one contender, with its own controller and namespaces.
type step struct {
	*Bench
	contender contender
	spaces    []string
	process   *lab.Process // nil if there is none
	// grace is the grace period, in seconds, with which the pods are deleted at the end. If it is nil, the pods' own grace period applies.
	grace *int64

	// The state at the beginning of the last sample.
	began  time.Time
	before lab.Usage
	lost   float64
}

// begin creates namespaces and starts the contender's controller.
func (b *Bench) begin(ctx context.Context, c contender, spaces int) (*step, error) {
	s := &step{Bench: b, contender: c, grace: ptr.To[int64](0)}
	for range spaces {
		b.spaces++
		s.spaces = append(s.spaces, fmt.Sprintf("bench-%d", b.spaces))
	}
	for _, space := range s.spaces {
		if err := b.makeSpace(ctx, space); err != nil {
			return nil, err
		}
	}
	err := s.start(ctx)
	if err == nil {
		err = s.mark(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// makeSpace creates a namespace, and waits until pods can be created in it. They need its ServiceAccount, which the controller manager creates.
func (b *Bench) makeSpace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := b.kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	for {
		_, err := b.kube.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return err
		}
		if !lab.Pause(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// start starts the controller and waits until it is ready.
func (s *step) start(ctx context.Context) error {
	process, ready, err := s.contender.launch()
	if err != nil || process == nil {
		return err
	}
	s.process = process
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := process.Await(ctx, ready); err != nil {
		return fmt.Errorf("%s: %w", s.contender.name(), err)
	}
	return nil
}

// mark begins a sample. Earlier work does not count.
func (s *step) mark(ctx context.Context) error {
	var err error
	if s.lost, err = s.lostWatches(ctx); err != nil {
		return err
	}
	if err := s.awaitSilence(ctx); err != nil {
		return err
	}
	if err := s.audit.Skip(); err != nil {
		return err
	}
	if s.process != nil {
		s.before, err = s.process.Usage()
	}
	s.began = time.Now()
	return err
}

// since returns the time since the sample began, in seconds.
func (s *step) since(at time.Time) float64 { return at.Sub(s.began).Seconds() }

// take ends a sample once the contender does not write any more, and adds the cost.
func (s *step) take(ctx context.Context, values figures.Values) (figures.Sample, error) {
	requests, err := s.awaitQuiet(ctx)
	if err != nil {
		return figures.Sample{}, err
	}
	return s.complete(ctx, values, requests)
}

// complete adds the cost of a sample.
func (s *step) complete(ctx context.Context, values figures.Values, requests requestCounts) (figures.Sample, error) {
	values[figures.AllRequests] = float64(requests.sum(isAny))
	values[figures.Writes] = float64(requests.sum(audit.IsWrite))
	if s.process != nil {
		usage, err := s.process.Usage()
		if err != nil {
			return figures.Sample{}, fmt.Errorf("the controller of %s has ended: %w\n%s", s.contender.name(), err, s.process.Tail(20))
		}
		values[figures.CPUTime] = (usage.CPU - s.before.CPU).Seconds()
		values[figures.Memory], values[figures.PeakMemory] = float64(usage.RSS), float64(usage.PeakRSS)
		values[figures.StatusWrites] = float64(requests.sum(isStatusWrite))
	}
	lost, err := s.lostWatches(ctx)
	values[figures.WatchesLost] = lost - s.lost
	return figures.Sample{Values: values, Requests: requests}, err
}

// awaitQuiet waits until the contender does not write any more, and returns its requests since the last sample began.
func (s *step) awaitQuiet(ctx context.Context) (requestCounts, error) {
	all := requestCounts{}
	last, limit := time.Now(), time.Now().Add(time.Minute)
	for time.Since(last) < s.sizes.Quiet {
		if time.Now().After(limit) {
			return nil, fmt.Errorf("%s goes on writing: %v", s.contender.name(), all)
		}
		if !lab.Pause(ctx, 100*time.Millisecond) {
			return nil, ctx.Err()
		}
		requests, err := s.audit.Read()
		if err != nil {
			return nil, err
		}
		if all.add(requests, func(r audit.Request) bool { return s.contender.made(r) && r.IsWrite() }) > 0 {
			last = time.Now()
		}
		all.add(requests, func(r audit.Request) bool { return s.contender.made(r) && !r.IsWrite() })
	}
	return all, nil
}

// stop stops the controller.
func (s *step) stop() error {
	if s.process == nil {
		return nil
	}
	err := s.process.Stop()
	s.process = nil
	return err
}

// leave ends the step. After an interrupt there is nothing to clean up, unless the cluster is kept.
func (s *step) leave(ctx context.Context) error {
	if ctx.Err() != nil && !s.settings.Keep {
		return s.stop()
	}
	cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return s.clean(cleaning)
}

// clean stops the controller and removes all objects of the step, regardless of finalizers. The namespaces stay: deleting them would keep the
// controller manager busy during the next step.
func (s *step) clean(ctx context.Context) error {
	if err := s.stop(); err != nil {
		return err
	}
	var errs []error
	for _, space := range s.spaces {
		names := s.censuses.Pods.Names(space)
		err := inParallel(ctx, len(names), ownersAtOnce, func(ctx context.Context, i int) error {
			err := s.kube.CoreV1().Pods(space).Delete(ctx, names[i], metav1.DeleteOptions{GracePeriodSeconds: s.grace})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
		errs = append(errs, err, s.contender.remove(ctx, space))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cleaning up: %w", err)
	}
	_, err := s.censuses.Pods.Expect(census.AllGone, s.spaces...).Await(ctx, patience, "the pods are gone")
	return err
}
