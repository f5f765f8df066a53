//go:build !(linux && amd64)

package faults

import (
	"errors"
	"time"
)

// SetClock is supported on linux/amd64 only.
func SetClock(int, time.Duration) error { return errors.ErrUnsupported }
