package plan

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// maxAhead is how far ahead of the present a time in the status may be. The status has whole seconds, and the clocks of two controllers differ a bit.
const maxAhead = 2 * time.Second

// withoutFutureTimes returns the observation with the present in place of each time in status.rollout that is in the future. Otherwise a bake or a
// grace period would last until then: the API server's clock may have been ahead for a while, and any client that may write the status may write
// any time.
func (o Observed) withoutFutureTimes() Observed {
	isFuture := func(t *metav1.Time) bool { return t.Sub(o.Now) > maxAhead }
	if o.Manager.Status.Rollout == nil || !slices.ContainsFunc(timesOf(o.Manager.Status.Rollout), isFuture) {
		return o
	}
	o.Manager = o.Manager.DeepCopy()
	for _, t := range timesOf(o.Manager.Status.Rollout) {
		if isFuture(t) {
			*t = *rollout.WholeSecond(o.Now)
		}
	}
	return o
}

// timesOf returns the times in a rollout's record.
func timesOf(record *v1.RolloutStatus) (times []*metav1.Time) {
	times = append(times, record.StartedAt, record.Since, record.BakingSince)
	for i := range record.Failing {
		times = append(times, &record.Failing[i].Since, record.Failing[i].ReadySince)
	}
	return slices.DeleteFunc(times, func(t *metav1.Time) bool { return t == nil })
}
