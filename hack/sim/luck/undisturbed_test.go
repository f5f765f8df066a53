package luck

import (
	"runtime"
	"testing"
	"time"
)

// While nothing else can take the only core of the process away from it, a goroutine runs for as long as it likes.
func TestUndisturbed(t *testing.T) {
	if !IsKnown() || runtime.GOOS != "linux" {
		t.Skip("the monitor is not stopped here")
	}
	others, isDone, ended := 0, false, make(chan struct{})
	go func() {
		defer close(ended)
		for !isDone {
			others++
			runtime.Gosched()
		}
	}()
	for began := time.Now(); time.Since(began) < 100*time.Millisecond; {
	}
	isDone = true
	defer func() { <-ended }()
	if others > 0 {
		t.Errorf("another goroutine ran %d times meanwhile", others)
	}
}
