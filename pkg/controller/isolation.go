package controller

import (
	"context"
	"fmt"
	"runtime/debug"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// panicError is a panic that was caught.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// caught turns a panic into an error. Call it deferred.
func caught(err *error) {
	if value := recover(); value != nil {
		panics.Inc()
		*err = &panicError{value, debug.Stack()}
	}
}

// syncIsolated syncs one PodManager. A bug that one object brings to light must not stop the others: the panic is
// caught, shown on that object, and backed off like any error.
func (c *Controller) syncIsolated(ctx context.Context, key cache.ObjectName) (result syncResult, again requeue.LookAgain, err error) {
	err = func() (err error) {
		defer caught(&err)
		result, again, err = c.syncHandler(ctx, key)
		return err
	}()
	if broken, ok := err.(*panicError); ok {
		klog.FromContext(ctx).Error(err, "Panic while syncing", "stack", string(broken.stack))
		why := fmt.Sprintf("the controller has a bug that this object brings to light (%v); its log has the details", broken.value)
		if err := c.reporter.tellBroken(ctx, key, v1.ReasonInternalError, v1.EventInternal, why); err != nil {
			klog.FromContext(ctx).Error(err, "Cannot show on the object that it is not handled")
		}
	}
	return result, again, err
}
