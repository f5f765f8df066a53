package leasehistory

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The times of a replica whose clock is wrong are corrected.
func TestTrueTime(t *testing.T) {
	h := &History{offsets: []time.Duration{10 * time.Minute, -30 * time.Minute}}
	now := time.Now()
	for _, offset := range append(h.offsets, 0) {
		written := now.Add(-time.Second)
		if got := h.trueTime(&metav1.MicroTime{Time: written.Add(offset)}, now); !got.Equal(written) {
			t.Errorf("a clock that is off by %v: got %v, want %v", offset, got, written)
		}
	}
}
