package requeue

import (
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// gatherPerPod is how long, for each pod, the events of pods are gathered; for few pods they are not.
	gatherPerPod = 200 * time.Microsecond
	gatherFrom   = 100
	gatherAtMost = time.Second
)

// GatherEvents is how long events of pods are gathered before they are looked at together. What a look costs grows with
// the number of pods, and so does the number of events while they start: each on its own would cost the square.
func GatherEvents(m *v1.PodManager) time.Duration {
	pods := max(m.DesiredReplicas(), int(m.Status.Replicas+m.Status.TerminatingReplicas))
	if pods < gatherFrom {
		return 0
	}
	return min(time.Duration(pods)*gatherPerPod, gatherAtMost)
}
