package figures

import (
	"testing"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
		found  bool
	}{
		{nil, 0, false},
		{[]float64{3}, 3, true},
		{[]float64{9, 1, 2}, 2, true},
		{[]float64{4, 1, 3, 2}, 2.5, true},
	} {
		if got, found := median(test.values); got != test.want || found != test.found {
			t.Errorf("%v: got %v, %v", test.values, got, found)
		}
	}
}

func TestResults(t *testing.T) {
	var r Results
	for _, value := range []float64{1, 5, 2} {
		r.Add(CreateOne, "1 x 10", Ours, Sample{Values: Values{ExistTime: value}, Requests: map[string]int{"create pods": int(value)}})
	}
	r.Add(CreateOne, "1 x 10", ReplicaSet, Sample{Values: Values{ExistTime: 7}})
	if got, found := r.Median(CreateOne, Ours, ExistTime); got != 2 || !found {
		t.Errorf("got %v, %v", got, found)
	}
	if least, most, found := r.extremes(CreateOne, Ours, ExistTime); least != 1 || most != 5 || !found {
		t.Errorf("from %v to %v, %v", least, most, found)
	}
	for _, workload := range []string{CreateOne, ScaleDown} {
		if _, _, found := r.extremes(workload, Ours, CPUTime); found {
			t.Errorf("%s: found extremes of what was not measured", workload)
		}
	}
	if _, found := r.Median(CreateOne, Ours, CPUTime); found {
		t.Error("found what was not measured")
	}
	if _, found := r.Median(ScaleDown, Ours, ExistTime); found {
		t.Error("found a workload that was not run")
	}
	if got := r.Find(CreateOne, Ours).requests()["create pods"]; got != 2 {
		t.Errorf("%v creates", got)
	}
}
