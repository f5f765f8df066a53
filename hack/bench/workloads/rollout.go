package workloads

import (
	"context"
	"fmt"
	"time"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// runRollout changes the image of one owner's pods. Deployment can only replace them, while PodManager can also update them in place.
func (b *Bench) runRollout(ctx context.Context) error {
	changed := b.managers.hasty()
	changed.policy = v1.InPlaceIfPossible
	return b.inTurn(ctx, []contender{b.managers.hasty(), b.deployments, changed}, func(s *step) error { return s.measureRollout(ctx, b.sizes.Rollout) })
}

func (s *step) measureRollout(ctx context.Context, pods int) error {
	if err := s.contender.create(ctx, s.spaces[0], 1, pods); err != nil {
		return err
	}
	if _, err := s.censuses.Pods.Expect(census.AllReady(pods), s.spaces...).Await(ctx, patience, "the pods are ready"); err != nil {
		return err
	}
	if _, err := s.awaitStatuses(ctx, census.AllGood(1), "the pods are known to be good"); err != nil {
		return err
	}
	if _, err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	if err := s.mark(ctx); err != nil {
		return err
	}
	updated := s.censuses.Pods.Expect(census.AllUpdated(pods, newImage), s.spaces...)
	s.began = time.Now()
	if err := s.contender.update(ctx, s.spaces[0], 0, newImage); err != nil {
		return err
	}
	at, err := updated.Await(ctx, patience, "all pods are updated and ready")
	if err != nil {
		return err
	}
	values := figures.Values{figures.UpdateTime: s.since(at)}
	if err := s.timeSettled(ctx, 1, values); err != nil {
		return err
	}
	taken, err := s.take(ctx, values)
	if err != nil {
		return err
	}
	s.add(figures.Rollout, fmt.Sprintf("update %d", pods), taken, figures.UpdateTime)
	return nil
}
