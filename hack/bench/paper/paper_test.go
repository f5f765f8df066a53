package paper

import (
	"math"
	"testing"
)

func TestOnPaper(t *testing.T) {
	c := Costs{Pod: 2000, Manager: 8000, Revision: 2000, Wire: 3000, PodDecode: 20e-6, ManagerDecode: 100e-6, Plan: 40e-6, Status: 20e-6, Match: 1e-7, StrayMatch: 2e-7}
	rows := Rows(c, 1, 8, 64)
	one, eight, all := rows[0], rows[1], rows[2]
	if one.Pods != Pods {
		t.Errorf("one replica has %d pods", one.Pods)
	}
	// A shard is at most 1.5 times as large as the mean, and so is the share of a replica that has several.
	for mean, pods := range map[int]int{Pods / 8: eight.Pods, Pods / 64: all.Pods} {
		if pods < mean || pods > mean*3/2 {
			t.Errorf("a replica has %d pods, the mean is %d", pods, mean)
		}
	}
	want := float64(emptyBytes + Managers*8000 + Pods*2000 + Managers*revisionsEach*2000)
	if math.Abs(one.Memory-want) > 1 {
		t.Errorf("one replica has %.0f bytes, want %.0f", one.Memory, want)
	}
	// However many replicas there are, each of them caches all PodManagers, and decodes every change of their statuses.
	floor := emptyBytes + all.Undivided
	if all.Undivided != one.Undivided || all.Memory < floor || all.Memory > 1.2*floor {
		t.Errorf("of 64 replicas one has %.0f bytes, %.0f of them undivided", all.Memory, all.Undivided)
	}
	if least := CreatesPerSecond * statusesEach * c.ManagerDecode; one.CPU <= eight.CPU || eight.CPU <= all.CPU || all.CPU < least {
		t.Errorf("CPU %v, %v, %v", one.CPU, eight.CPU, all.CPU)
	}
	if one.Requests >= all.Requests || [2]float64{one.Watches, all.Watches} != [2]float64{132, 384} || one.Filter >= all.Filter {
		t.Errorf("for the API server: %+v, %+v", one, all)
	}
}
