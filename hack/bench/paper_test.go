package main

import (
	"math"
	"testing"
)

func TestOnPaper(t *testing.T) {
	c := costs{Pod: 2000, Manager: 8000, Revision: 2000, Wire: 3000, PodDecode: 20e-6, ManagerDecode: 100e-6, Plan: 40e-6, Status: 20e-6, Match: 1e-7, StrayMatch: 2e-7}
	rows := onPaper(c, 1, 8, 64)
	one, eight, all := rows[0], rows[1], rows[2]
	if one.Pods != paperPods {
		t.Errorf("one replica has %d pods", one.Pods)
	}
	// A shard is at most half as large again as the mean, and so is the part of a replica that has several.
	if eight.Pods < paperPods/8 || eight.Pods > paperPods/8*3/2 || all.Pods < paperPods/64 || all.Pods > paperPods/64*3/2 {
		t.Errorf("of 8 and 64 replicas one has %d and %d pods", eight.Pods, all.Pods)
	}
	want := float64(emptyBytes + paperManagers*8000 + paperPods*2000 + paperManagers*paperRevisions*2000)
	if math.Abs(one.Memory-want) > 1 {
		t.Errorf("one replica has %.0f bytes, want %.0f", one.Memory, want)
	}
	// However many replicas there are, each has the PodManagers of all, and decodes each change of their statuses.
	floor := emptyBytes + all.Undivided
	if all.Undivided != one.Undivided || all.Memory < floor || all.Memory > 1.2*floor {
		t.Errorf("of 64 replicas one has %.0f bytes, %.0f of them undivided", all.Memory, all.Undivided)
	}
	if least := createsPerSecond * paperStatuses * c.ManagerDecode; one.CPU <= eight.CPU || eight.CPU <= all.CPU || all.CPU < least {
		t.Errorf("CPU %v, %v, %v", one.CPU, eight.CPU, all.CPU)
	}
	if one.Requests >= all.Requests || one.Watches != 132 || all.Watches != 384 || one.Filter >= all.Filter {
		t.Errorf("for the API server: %+v, %+v", one, all)
	}
}

// What is measured in this process is of the size that it has been: a figure far off is a mistake in how it is measured.
func TestPaperCosts(t *testing.T) {
	b := &bench{options: options{scale: 0.1}, progress: newProgress(nil, options{scale: 0.1})}
	if err := b.runPaper(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := *b.report.Paper
	if c.Pod < 500 || c.Pod > 10_000 || c.Manager < 2*c.Pod/10 || c.Manager > 30_000 || c.Revision < 500 || c.Wire < 1000 {
		t.Errorf("sizes: %+v", c)
	}
	table := b.report.paperTable()
	if len(table.rows) != 5 || len(table.rows[0]) != len(table.columns) {
		t.Errorf("got %v", table)
	}
}
