package workloads

import "testing"

func TestSyncsSince(t *testing.T) {
	first := syncs{seconds: 1.5, count: 10}
	if got := (syncs{seconds: 2, count: 20}).since(first); got != 50 {
		t.Errorf("a sync takes %v ms", got)
	}
	if got := first.since(first); got != 0 {
		t.Errorf("no sync takes %v ms", got)
	}
}
