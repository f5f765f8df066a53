package workloads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// applies has PodManagers without a controller. It measures how long users wait for the API server.
type applies struct {
	*managers
	title string
}

func (a *applies) name() string { return a.title }

func (a *applies) launch() (*lab.Process, func() bool, error) { return nil, nil, nil }

// runApplies applies PodManagers without and with the webhook: first one at a time, like a user, and then many at a time.
func (b *Bench) runApplies(ctx context.Context) error {
	for _, title := range []string{figures.Untried, figures.Trying} {
		s, err := b.begin(ctx, &applies{b.managers, title}, 3)
		if err == nil {
			err = errors.Join(s.measureApplies(ctx), s.leave(ctx))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", title, err)
		}
	}
	return nil
}

func (s *step) measureApplies(ctx context.Context) error {
	trials := func() int64 { return 0 }
	if s.contender.name() == figures.Trying {
		webhook, err := s.cluster.Validate(ctx, "podmanager-bench", s.cluster.OurKubeconfig, s.spaces...)
		if err != nil {
			return err
		}
		defer func() { _ = webhook.Remove() }() // the next turn has other namespaces
		trials = webhook.Trials.Load
	}
	// The first requests establish the connections, and cost the API server more. They do not count.
	if _, _, err := s.apply(ctx, s.spaces[2], ownersAtOnce, ownersAtOnce, oldImage); err != nil {
		return err
	}
	for i, part := range []struct{ count, atOnce int }{{max(1, s.sizes.Applies/5), 1}, {s.sizes.Applies, min(s.sizes.Applies, ownersAtOnce)}} {
		before := trials()
		for _, change := range []struct{ what, image string }{{"create", oldImage}, {"change", newImage}} {
			waits, warned, err := s.apply(ctx, s.spaces[i], part.count, part.atOnce, change.image)
			if err != nil {
				return err
			}
			tried := trials() - before
			before += tried
			s.addApplies(fmt.Sprintf("%s %d, %d at a time", change.what, part.count, part.atOnce), waits, figures.Values{
				figures.TrialCount: float64(tried), figures.WarningCount: float64(warned)})
		}
	}
	return nil
}

// apply applies PodManagers, and returns how long each apply took, in milliseconds, and the number of warnings. The pods are valid, so a warning
// means that the webhook could not try a pod in time.
func (s *step) apply(ctx context.Context, space string, count, atOnce int, image string) (waits []float64, warned int64, err error) {
	waits = make([]float64, count)
	var warnings atomic.Int64
	err = inParallel(ctx, count, atOnce, func(ctx context.Context, i int) error {
		manager := newManager(ownerName(i), 1, v1.RecreatePods)
		manager.APIVersion, manager.Kind = v1.GroupVersion.String(), v1.Kind
		manager.Spec.Template.Spec.Containers[0].Image = image
		data, err := json.Marshal(manager)
		if err != nil {
			return err
		}
		request := s.podManagers.AppsV1().RESTClient().Patch(types.ApplyPatchType).Namespace(space).Resource("podmanagers").Name(manager.Name).
			Param("fieldManager", "bench").WarningHandlerWithContext(rest.NoWarnings{}).Body(data)
		began := time.Now()
		answer := request.Do(ctx)
		waits[i] = float64(time.Since(began).Microseconds()) / 1000
		warnings.Add(int64(len(answer.Warnings())))
		return answer.Error()
	})
	return waits, warnings.Load(), err
}

func (s *step) addApplies(title string, waits []float64, values figures.Values) {
	values[figures.ApplyMedian], values[figures.ApplyLast] = percentile(waits, 50), percentile(waits, 99)
	s.report.Results.Add(figures.Applying+title, title, s.contender.name(), figures.Sample{Values: values})
	s.say("  %-26s  %-12s median %.1f ms, 99th percentile %.1f ms, %.0f trials, %.0f warnings", title, s.contender.name(),
		values[figures.ApplyMedian], values[figures.ApplyLast], values[figures.TrialCount], values[figures.WarningCount])
}

// percentile returns the lowest value that this percentage of all values does not exceed.
func percentile(values []float64, percent float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(float64(len(sorted))*percent/100))-1)]
}
