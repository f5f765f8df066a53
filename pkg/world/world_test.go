package world

import (
	"fmt"
	"slices"
	"testing"
)

// The same seed leads to the same course of events.
func TestSeed(t *testing.T) {
	course := func(seed uint64) (lines []string) {
		w := New(seed)
		w.Tell = func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
		for range 20 {
			w.Step()
			lines = append(lines, w.DescribePods())
		}
		return append(lines, w.Describe())
	}
	for seed := range uint64(50) {
		if first, second := course(seed), course(seed); !slices.Equal(first, second) {
			t.Errorf("seed %d: %d lines, and then %d", seed, len(first), len(second))
		}
	}
	if slices.Equal(course(1), course(2)) {
		t.Error("two seeds are the same")
	}
}
