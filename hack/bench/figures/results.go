package figures

import (
	"slices"
	"strings"
)

// Values has the figures of one turn.
type Values map[Metric]float64

// Sample is the outcome of one turn of a contender.
type Sample struct {
	Values Values
	// Requests counts the requests of each kind, such as "update podmanagers/status".
	Requests map[string]int `json:",omitempty"`
}

// Result is the outcome of one contender in one workload.
type Result struct {
	Workload, Contender string
	// Title names the workload and its size for readers.
	Title   string
	Samples []Sample
}

// Results has all results, in the order in which they were first added.
type Results []*Result

// Add adds the outcome of one more turn.
func (r *Results) Add(workload, title, contender string, s Sample) {
	found := r.Find(workload, contender)
	if found == nil {
		found = &Result{Workload: workload, Contender: contender, Title: title}
		*r = append(*r, found)
	}
	found.Samples = append(found.Samples, s)
}

// Find returns the result of a contender in a workload, or nil if there is none.
func (r *Results) Find(workload, contender string) *Result {
	for _, candidate := range *r {
		if candidate.Workload == workload && candidate.Contender == contender {
			return candidate
		}
	}
	return nil
}

// Median returns the median of a metric over all turns, or false if it was never measured.
func (r *Results) Median(workload, contender string, m Metric) (float64, bool) {
	found := r.Find(workload, contender)
	if found == nil {
		return 0, false
	}
	return found.median(m)
}

func (r *Result) median(m Metric) (float64, bool) { return median(r.values(m)) }

// values returns the values of a metric in all turns in which it was measured.
func (r *Result) values(m Metric) []float64 {
	var values []float64
	for _, s := range r.Samples {
		if value, measured := s.Values[m]; measured {
			values = append(values, value)
		}
	}
	return values
}

// extremes returns the lowest and the highest value of a metric over all turns, or false if it was never measured.
func (r *Results) extremes(workload, contender string, m Metric) (least, most float64, measured bool) {
	found := r.Find(workload, contender)
	if found == nil {
		return 0, 0, false
	}
	values := found.values(m)
	if len(values) == 0 {
		return 0, 0, false
	}
	return slices.Min(values), slices.Max(values), true
}

// requests returns the median count of each kind of request.
func (r *Result) requests() map[string]float64 {
	medians := map[string]float64{}
	for _, s := range r.Samples {
		for what := range s.Requests {
			var counts []float64
			for _, other := range r.Samples {
				counts = append(counts, float64(other.Requests[what]))
			}
			medians[what], _ = median(counts)
		}
	}
	return medians
}

// withPrefix returns the results of the workloads whose names have this prefix.
func (r *Results) withPrefix(prefix string) []*Result {
	var found []*Result
	for _, candidate := range *r {
		if strings.HasPrefix(candidate.Workload, prefix) {
			found = append(found, candidate)
		}
	}
	return found
}

// compared returns the results of contenders that manage pods, grouped by workload.
func (r *Results) compared() []*Result {
	isAlone := func(c *Result) bool {
		return slices.ContainsFunc([]string{Growth, Planning, Applying, Sharing, Spreading}, func(prefix string) bool { return strings.HasPrefix(c.Workload, prefix) })
	}
	found := slices.DeleteFunc(slices.Clone(*r), isAlone)
	first := map[string]int{}
	for i, candidate := range found {
		if _, seen := first[candidate.Workload]; !seen {
			first[candidate.Workload] = i
		}
	}
	slices.SortStableFunc(found, func(a, b *Result) int { return first[a.Workload] - first[b.Workload] })
	return found
}

// median returns the middle value, or the mean of the two middle values. It returns false if there are no values.
func median(values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half], true
	}
	return (sorted[half-1] + sorted[half]) / 2, true
}
