package workloads

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestInParallel(t *testing.T) {
	var calls, running, most atomic.Int32
	err := inParallel(t.Context(), 50, 4, func(context.Context, int) error {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		calls.Add(1)
		return nil
	})
	if err != nil || calls.Load() != 50 || most.Load() > 4 {
		t.Errorf("%d calls, %d at a time, %v", calls.Load(), most.Load(), err)
	}
	failure := errors.New("no")
	calls.Store(0)
	err = inParallel(t.Context(), 1000, 2, func(context.Context, int) error {
		calls.Add(1)
		return failure
	})
	if !errors.Is(err, failure) || calls.Load() > 10 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := inParallel(stopped, 10, 2, func(context.Context, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}
