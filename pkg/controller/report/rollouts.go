package report

import (
	"context"
	"errors"

	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/executor"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// A rollout is counted when the status that ends it is written, by the process that has written it. The status is the memory: whoever reads
// it afterwards, this process or the next leader, finds no rollout under way or finds it counted. So no rollout is counted twice, except if
// two controllers without leader election write the same end at the same moment.
//
// If the answer to the write is lost, the end is kept here until the status shows whether it was written. A rollout is missing from the
// counts only if the process dies after the write and before the next scrape, when its counters die as well.

// countRollout counts the rollout that a written status ends, if there is one.
func (r *Reporter) countRollout(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, written *v1.PodManagerStatus) {
	if end := status.EndBetween(manager, &manager.Status, written); end != nil {
		r.count(ctx, end)
		r.Memories.Of(key).UncertainEnd = nil
	}
}

func (r *Reporter) count(ctx context.Context, end *status.End) {
	now := r.Clock.Now()
	metrics.ObserveRollout(*end, now)
	klog.FromContext(ctx).V(2).Info("Rollout counted", "result", end.Result, "revision", end.Revision, "duration", now.Sub(end.Started))
}

// noteUncertainEnd remembers the end of a rollout if nobody knows whether it was written.
func (r *Reporter) noteUncertainEnd(key cache.ObjectName, manager *v1.PodManager, wanted *v1.PodManagerStatus, err error) {
	isUncertain := executor.OutcomeIsUnknown(err) && !errors.Is(err, errOtherController)
	if end := status.EndBetween(manager, &manager.Status, wanted); end != nil && isUncertain {
		r.Memories.Of(key).UncertainEnd = end
	}
}

// settleUncertainEnd counts a rollout whose end was written although no answer came. As long as the status does not show the end, it may
// be an old one from the cache, or the end will be decided again. The status of an object that is being deleted tells nothing of rollouts.
func (r *Reporter) settleUncertainEnd(ctx context.Context, key cache.ObjectName, manager *v1.PodManager) {
	memory := r.Memories.Of(key)
	end := memory.UncertainEnd
	if end == nil || end.UID == manager.UID && !end.IsWritten(&manager.Status) {
		return
	}
	if end.UID == manager.UID && manager.DeletionTimestamp == nil {
		r.count(ctx, end)
	}
	memory.UncertainEnd = nil
}
