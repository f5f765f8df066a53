package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// drainTimeout, releaseTimeout and pkg/serve's shutdownTimeout together have to fit into the Deployment's terminationGracePeriodSeconds of
// 30. drainTimeout is longer than the controller's syncDrainTimeout of 20 s, after which syncs are cancelled.
const (
	drainTimeout   = 25 * time.Second
	releaseTimeout = 3 * time.Second
)

var (
	errLeaseLost  = errors.New("the lease was lost: another replica may lead now")
	errOutlived   = errors.New("the lease was lost, and the work under it has stopped")
	errNotDrained = fmt.Errorf("the workers did not finish within %v", drainTimeout)
)

// MustExit reports whether work may still be running after this error. If so, the process has to exit at once.
func MustExit(err error) bool {
	return errors.Is(err, errLeaseLost) || errors.Is(err, errNotDrained)
}

// Work runs until its context is done, then drains and returns.
type Work func(context.Context) error

// RunAndDrain runs work. After ctx is done, it gives work drainTimeout to return.
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
