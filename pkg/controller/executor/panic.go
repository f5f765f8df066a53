package executor

import (
	"fmt"
	"runtime/debug"

	"github.com/mycompany/podmanager/pkg/controller/metrics"
)

// PanicError is a panic that was caught.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Caught turns a panic into an error. Call it deferred.
func Caught(err *error) {
	if value := recover(); value != nil {
		metrics.Panics.Inc()
		*err = &PanicError{value, debug.Stack()}
	}
}
