package main

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

	"github.com/mycompany/podmanager/hack/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// applying is the prefix of the workloads that measure how long an apply takes.
const applying = "apply "

// How PodManagers are applied: as they are, or with the webhook that tries their pods.
const (
	untried = "no webhook"
	trying  = "webhook"
)

// applies are PodManagers without a controller: what is measured is how long their users wait for the API server.
type applies struct {
	*managers
	title string
}

func (a *applies) name() string { return a.title }

func (a *applies) launch() (*lab.Process, func() bool, error) { return nil, nil, nil }

// runApplies applies PodManagers without the webhook and with it: one at a time, as people do, and many at a time.
func (b *bench) runApplies(ctx context.Context) error {
	for _, title := range []string{untried, trying} {
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
	if s.contender.name() == trying {
		webhook, err := s.cluster.Validate(ctx, "podmanager-bench", s.cluster.OurKubeconfig, s.spaces...)
		if err != nil {
			return err
		}
		defer func() { _ = webhook.Remove() }() // the next turn has other namespaces
		trials = webhook.Trials.Load
	}
	// The first requests of all make the connections, and cost the API server more: they do not count.
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
			s.addApplies(fmt.Sprintf("%s %d, %d at a time", change.what, part.count, part.atOnce), waits, map[metric]float64{
				trialCount: float64(tried), warningCount: float64(warned)})
		}
	}
	return nil
}

// apply applies PodManagers, and returns how long each took, in milliseconds, and how many warnings there were: the pods are valid, so that
// a warning tells that one was not tried in time.
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

func (s *step) addApplies(title string, waits []float64, values map[metric]float64) {
	values[applyMedian], values[applyLast] = percentile(waits, 50), percentile(waits, 99)
	s.report.Results.add(applying+title, title, s.contender.name(), sample{Values: values})
	s.progress.say("  %-26s  %-12s median %.1f ms, 99th percentile %.1f ms, %.0f trials, %.0f warnings", title, s.contender.name(),
		values[applyMedian], values[applyLast], values[trialCount], values[warningCount])
}

// percentile is the least value that so many percent of all values do not exceed.
func percentile(values []float64, percent float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(float64(len(sorted))*percent/100))-1)]
}

// applyTable has how much longer an apply takes if the pod is tried.
func (r *report) applyTable() table {
	t := table{title: "Applies, without and with the webhook that tries the pods", columns: []string{
		"applies", "without: median ms", "99th percentile ms", "with: median ms", "99th percentile ms", "median added ms", "99th percentile added ms", "trials", "not tried in time",
	}, note: "Server-side applies of PodManagers whose pods have one container, and of another image for them. The webhook is served by the bench; no controller runs."}
	for _, one := range r.Results.withPrefix(applying) {
		with := r.Results.find(one.Workload, trying)
		if one.Contender != untried || with == nil {
			continue
		}
		value := func(of *result, m metric) float64 {
			value, _ := of.median(m)
			return value
		}
		row := []string{one.Title}
		for _, number := range []float64{value(one, applyMedian), value(one, applyLast), value(with, applyMedian), value(with, applyLast),
			value(with, applyMedian) - value(one, applyMedian), value(with, applyLast) - value(one, applyLast)} {
			row = append(row, fmt.Sprintf("%.1f", number))
		}
		t.rows = append(t.rows, append(row, fmt.Sprintf("%.0f", value(with, trialCount)), fmt.Sprintf("%.0f", value(with, warningCount))))
	}
	return t
}
