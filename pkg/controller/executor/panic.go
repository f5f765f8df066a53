package executor

import (
	"fmt"
	"runtime/debug"

	"github.com/mycompany/podmanager/pkg/controller/metrics"
)

// PanicError is a recovered panic.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// RecoverTo recovers a panic and sets err to a PanicError. Call it deferred.
func RecoverTo(err *error) {
	if value := recover(); value != nil {
		metrics.Panics.Inc()
		*err = &PanicError{value, debug.Stack()}
	}
}
