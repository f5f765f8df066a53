package requeue

import (
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// gatherPerPod, times the number of pods, is how long pod events are gathered, up to maxGather; with fewer pods than
	// minPodsToGather they are handled at once.
	gatherPerPod    = 200 * time.Microsecond
	minPodsToGather = 100
	maxGather       = time.Second
)

// GatherEvents is how long pod events are gathered before one sync handles them together. The cost of a sync grows with the number of
// pods, and so does the number of events while pods start: a sync for each event would cost the square of the number of pods.
func GatherEvents(m *v1.PodManager) time.Duration {
	pods := max(m.DesiredReplicas(), int(m.Status.Replicas+m.Status.TerminatingReplicas))
	if pods < minPodsToGather {
		return 0
	}
	return min(time.Duration(pods)*gatherPerPod, maxGather)
}
