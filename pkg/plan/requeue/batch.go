package requeue

import (
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// The batch period of pod events is batchPerPod times the number of pods, up to maxBatch. With fewer pods than minPodsToBatch, each event is
	// handled at once.
	batchPerPod    = 200 * time.Microsecond
	minPodsToBatch = 100
	maxBatch       = time.Second
)

// BatchPeriod returns how long pod events are collected before one sync handles them together. The cost of a sync grows with the number of pods,
// and so does the number of events while pods start. So a sync for each event would have quadratic cost.
func BatchPeriod(m *v1.PodManager) time.Duration {
	pods := max(m.DesiredReplicas(), int(m.Status.Replicas+m.Status.TerminatingReplicas))
	if pods < minPodsToBatch {
		return 0
	}
	return min(time.Duration(pods)*batchPerPod, maxBatch)
}
