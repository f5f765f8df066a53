package figures

import "fmt"

// applyTable shows how much longer an apply takes if the webhook tries the pod.
func (r *Report) applyTable() table {
	t := table{title: "Applies, without and with the webhook that tries the pods", columns: []string{
		"applies", "without: median ms", "99th percentile ms", "with: median ms", "99th percentile ms", "median added ms", "99th percentile added ms", "trials", "not tried in time",
	}, note: "Server-side applies of PodManagers whose pods have one container, and of another image for them. The webhook is served by the bench; no controller runs."}
	for _, one := range r.Results.withPrefix(Applying) {
		with := r.Results.Find(one.Workload, Trying)
		if one.Contender != Untried || with == nil {
			continue
		}
		value := func(of *Result, m Metric) float64 {
			value, _ := of.median(m)
			return value
		}
		row := []string{one.Title}
		for _, number := range []float64{value(one, ApplyMedian), value(one, ApplyLast), value(with, ApplyMedian), value(with, ApplyLast),
			value(with, ApplyMedian) - value(one, ApplyMedian), value(with, ApplyLast) - value(one, ApplyLast)} {
			row = append(row, fmt.Sprintf("%.1f", number))
		}
		t.rows = append(t.rows, append(row, fmt.Sprintf("%.0f", value(with, TrialCount)), fmt.Sprintf("%.0f", value(with, WarningCount))))
	}
	return t
}
