package reconcile

import (
	"errors"
	"fmt"
	"testing"
)

// However many requests of a sync fail, its error is the first one and a count.
func TestOneErrorOfMany(t *testing.T) {
	first := errors.New("creating pod web-0: no answer")
	done := &Outcome{}
	done.AddError(first)
	if err := done.Failed(nil); err == nil || err.Error() != first.Error() {
		t.Errorf("one error is %v", err)
	}
	for i := range 97 {
		done.AddError(fmt.Errorf("creating pod web-%d: no answer", i+1))
	}
	if err := done.Failed(nil); !errors.Is(err, first) || err.Error() != "creating pod web-0: no answer (and 97 more)" {
		t.Errorf("98 errors are %v", err)
	}
}
