package workloads

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// tick is an annotation without any meaning.
const tick = "bench.podmanager/tick"

// runCrowd measures few pods of ours, alone and then among very many pods of other owners. Neither those pods nor their updates may cost anything.
// Each contender creates its own crowd, so that none of them finds the API server warmed up by another.
func (b *Bench) runCrowd(ctx context.Context) error {
	for _, turn := range []struct {
		contender
		samples int
	}{{b.managers.hasty(), b.settings.Rounds}, {b.replicaSets, 1}} { // there is no goal about the peer
		s, err := b.begin(ctx, turn.contender, 2)
		if err == nil {
			err = errors.Join(s.measureCrowd(ctx, turn.samples), s.leave(ctx))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", turn.name(), err)
		}
	}
	return nil
}

// measureCrowd measures as often alone as in the crowd, each time with a newly started process.
func (s *step) measureCrowd(ctx context.Context, samples int) error {
	few := s.sizes.Few
	if err := s.contender.create(ctx, s.spaces[0], few, replicasOfMany); err != nil {
		return err
	}
	if _, err := s.awaitStatuses(ctx, census.AllGood(few), "the pods are known to be good"); err != nil {
		return err
	}
	size := fmt.Sprintf("%d x %d", few, replicasOfMany)
	for range samples {
		if err := s.measureAmong(ctx, figures.Alone, size+" alone", 0); err != nil {
			return err
		}
	}
	if err := s.gather(ctx, s.spaces[1]); err != nil {
		return err
	}
	for range samples {
		if err := s.measureAmong(ctx, figures.Crowd, fmt.Sprintf("%s among %d others", size, s.sizes.Crowd), s.sizes.Updates); err != nil {
			return err
		}
	}
	return nil
}

// gather creates the pods of other owners. They stay unscheduled, so that they are created quickly and keep no other component busy.
func (s *step) gather(ctx context.Context, space string) error {
	return inParallel(ctx, s.sizes.Crowd, ownersAtOnce, func(ctx context.Context, i int) error {
		_, err := s.kube.CoreV1().Pods(space).Create(ctx, newStranger(i), metav1.CreateOptions{})
		return err
	})
}

// measureAmong restarts the controller, and measures its memory and what updates of other owners' pods cost it.
func (s *step) measureAmong(ctx context.Context, workload, title string, updates int) error {
	if err := s.restart(ctx); err != nil {
		return err
	}
	if err := s.mark(ctx); err != nil {
		return err
	}
	if updates > 0 {
		if err := s.disturb(ctx, s.spaces[1], updates, tick); err != nil {
			return err
		}
	}
	taken, err := s.take(ctx, figures.Values{})
	if err != nil {
		return err
	}
	s.add(workload, title, taken, figures.Memory, figures.CPUTime)
	return nil
}

// restart restarts the process, and waits until it has finished its startup work.
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

// disturb updates the pods of a namespace to which no other client writes. Each update changes the value of an annotation.
func (s *step) disturb(ctx context.Context, space string, times int, annotation string) error {
	list, err := s.kube.CoreV1().Pods(space).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	workers := min(ownersAtOnce, len(list.Items))
	return inParallel(ctx, workers, workers, func(ctx context.Context, worker int) error {
		own := list.Items[worker*len(list.Items)/workers : (worker+1)*len(list.Items)/workers]
		for i := range (worker+1)*times/workers - worker*times/workers {
			pod := &own[i%len(own)]
			value := "1"
			if pod.Annotations[annotation] == value {
				value = "2"
			}
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, annotation, value)
			pod.ManagedFields = []metav1.ManagedFieldsEntry{{}} // none, because maintaining them is the largest cost for the API server
			updated, err := s.kube.CoreV1().Pods(space).Update(ctx, pod, metav1.UpdateOptions{})
			if err != nil {
				return err
			}
			*pod = *updated
		}
		return nil
	})
}
