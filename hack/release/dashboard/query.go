package main

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/monitoring"
)

// panelData is a panel with the results of its queries.
type panelData struct {
	monitoring.Panel
	began, ended time.Time
	series       []series
}

// series is a line of a panel: a value for each step, or NaN if there is none.
type series struct {
	name   string
	labels map[string]string
	values []float64
}

// colour returns the color of a series: the one that its meaning has on the dashboard, or the next of the palette.
func (p panelData) colour(index int) string {
	if colour, ok := colours[p.Color(p.series[index].name)]; ok {
		return colour
	}
	return palette[index%len(palette)]
}

// last returns the newest value.
func (s series) last() float64 { return s.values[len(s.values)-1] }

// ask sends the queries of all panels to Prometheus.
func ask(ctx context.Context, prometheus *monitoring.Prometheus, dashboard *monitoring.Dashboard, began, ended time.Time) ([]panelData, error) {
	count := int(ended.Sub(began)/step) + 1
	var panels []panelData
	for _, panel := range dashboard.Panels {
		data := panelData{Panel: panel, began: began, ended: began.Add(time.Duration(count-1) * step)}
		for _, target := range panel.Targets {
			results, err := prometheus.Range(ctx, target.Query(monitoring.Job, rateInterval), began, ended, step)
			if err != nil {
				return nil, err
			}
			var all []series
			for _, result := range results {
				one := newSeries(target.Legend(result.Labels), result, began, count)
				// A quantile of no samples is NaN, and Grafana then shows nothing.
				if slices.ContainsFunc(one.values, func(value float64) bool { return !math.IsNaN(value) }) {
					all = append(all, one)
				}
			}
			// Prometheus returns no particular order here, and a picture should not change without a reason.
			slices.SortFunc(all, func(a, b series) int { return strings.Compare(a.name, b.name) })
			data.series = append(data.series, all...)
		}
		panels = append(panels, data)
	}
	return panels, nil
}

func newSeries(name string, result monitoring.Result, began time.Time, count int) series {
	s := series{name: name, labels: result.Labels, values: slices.Repeat([]float64{math.NaN()}, count)}
	for _, point := range result.Points {
		if i := int((point.At.Sub(began) + step/2) / step); i >= 0 && i < count {
			s.values[i] = point.Value
		}
	}
	return s
}
