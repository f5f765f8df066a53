package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// drainTimeout, releaseTimeout and the shutdownTimeout of pkg/serve together have to fit into the Deployment's terminationGracePeriodSeconds
// of 30. drainTimeout is longer than the controller's own syncDrainTimeout of 20 s, after which syncs are cancelled.
const (
	drainTimeout   = 25 * time.Second
	releaseTimeout = 3 * time.Second
)

var (
	errLeaseLost  = errors.New("the lease was lost: another replica may lead now")
	errOutlived   = errors.New("the lease was lost, and its work has stopped")
	errNotDrained = fmt.Errorf("the workers did not finish within %v", drainTimeout)
)

// MustExit tells whether work may still be running after this error, so that the process has to end at once.
func MustExit(err error) bool {
	return errors.Is(err, errLeaseLost) || errors.Is(err, errNotDrained)
}

// Work runs until its context is done, then drains and returns.
type Work func(context.Context) error

// RunAndDrain runs work, and gives it drainTimeout to return after ctx is done.
func RunAndDrain(ctx context.Context, work Work) error {
	done := make(chan error, 1)
	go func() {
		defer utilruntime.HandleCrashWithContext(ctx)
		done <- work(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(drainTimeout):
		return errNotDrained
	}
}
