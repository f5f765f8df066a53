package main

import (
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/bench/workloads"
)

func TestProgress(t *testing.T) {
	p := newProgress([]workloads.Workload{{Estimate: time.Minute}, {Estimate: 2 * time.Minute, Once: true}}, options{Settings: workloads.Settings{Rounds: 3, Scale: 1}})
	if want := 5*time.Minute + 4*setUpTime; p.remaining() != want {
		t.Errorf("%v left, want %v", p.remaining(), want)
	}
	p.left, p.done, p.took = 10*time.Minute, 10*time.Minute, 20*time.Minute
	if p.remaining() != 20*time.Minute {
		t.Errorf("%v left on a machine that is half as fast", p.remaining())
	}
	if got := clock(125 * time.Second); got != "2:05" {
		t.Errorf("got %s", got)
	}
}
