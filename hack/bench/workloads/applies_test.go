package workloads

import "testing"

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for name, test := range map[string]struct {
		values        []float64
		percent, want float64
	}{
		"the middle":     {hundred, 50, 50},
		"almost all":     {hundred, 99, 99},
		"of few values":  {[]float64{3, 1, 2}, 99, 3},
		"of one":         {[]float64{7}, 50, 7},
		"of two: a half": {[]float64{2, 1}, 50, 1},
	} {
		if got := percentile(test.values, test.percent); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
