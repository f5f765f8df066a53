package reconcile

import (
	"fmt"
	"runtime/debug"

	"github.com/mycompany/podmanager/pkg/controller/metrics"
)

// ChangedError is the error of a request that found its object gone or not in the state that the plan assumes. Nothing has failed: the plan
// is outdated. But a policy or a webhook may refuse a request with the same response, and keep doing so; see the executor.
type ChangedError struct {
	error
	// Object is the object that the request was about.
	Object string
}

// Changed returns the error of a request that found an object gone or not in the state that the plan assumes.
func Changed(object string, err error) error { return &ChangedError{err, object} }

func (e *ChangedError) Unwrap() error { return e.error }

// PanicError is a recovered panic.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// RecoverTo recovers a panic and sets err to a PanicError. It has to be called with defer.
func RecoverTo(err *error) {
	if value := recover(); value != nil {
		metrics.Panics.Inc()
		*err = &PanicError{value, debug.Stack()}
	}
}
