package plan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// No bake, grace period or deadline lasts until a time of the future that stands in the status.
func TestTimesOfTheFuture(t *testing.T) {
	future := metav1.NewTime(Now.Add(10 * 365 * 24 * time.Hour))
	m := Next(3, Limits("0", "1"))
	m.Status.Rollout = &v1.RolloutStatus{
		Revision: RevisionFor(m).Name, StartedAt: ptr.To(future), Since: ptr.To(future), BakingSince: ptr.To(future),
		Failing: []v1.FailingPod{{Name: "web-2", UID: "uid-web-2", Since: future, ReadySince: ptr.To(future)}},
	}
	was := m.DeepCopy()
	for name, o := range map[string]Observed{
		"while it bakes":   RollingOut(m, Pod(0, V2), Pod(1, V2), Pod(2, V2)),
		"with a bad pod":   RollingOut(m, Pod(0), Pod(1), Pod(2, V2, NotReady)),
		"while pods start": RollingOut(m, Pod(0), Pod(1), Pod(2, V2, func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })),
	} {
		record := Make(o).Rollout.Record
		times := []*metav1.Time{record.StartedAt, record.Since, record.BakingSince}
		for _, failing := range record.Failing {
			times = append(times, &failing.Since, failing.ReadySince)
		}
		for _, at := range times {
			if at != nil && at.After(Now.Add(time.Minute)) {
				t.Errorf("%s: the record keeps the time %v", name, at)
			}
		}
	}
	if !was.Status.Rollout.BakingSince.Equal(m.Status.Rollout.BakingSince) {
		t.Error("the observed PodManager was changed")
	}
}
