package controller

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/executor"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// syncIsolated syncs one PodManager. A panic for one PodManager must not stop the others: it becomes an error with backoff, and the
// status of that PodManager shows it.
func (c *Controller) syncIsolated(ctx context.Context, key cache.ObjectName) (result metrics.SyncResult, again requeue.LookAgain, err error) {
	err = func() (err error) {
		defer executor.RecoverTo(&err)
		result, again, err = c.syncHandler(ctx, key)
		return err
	}()
	if caught, ok := errors.AsType[*executor.PanicError](err); ok {
		klog.FromContext(ctx).Error(err, "Panic while syncing", "stack", string(caught.Stack))
		why := fmt.Sprintf("the controller has a bug that this object brings to light (%v); its log has the details", caught.Value)
		if err := c.reporter.ReportBroken(ctx, key, v1.ReasonInternalError, v1.EventInternal, why); err != nil {
			klog.FromContext(ctx).Error(err, "Cannot show on the object that it is not handled")
		}
	}
	return result, again, err
}
