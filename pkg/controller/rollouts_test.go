package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics/legacyregistry"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/source"
)

// counted returns how many rollouts have completed so far, and how many seconds they took.
func counted(t *testing.T) (rollouts, seconds float64) {
	t.Helper()
	metrics.Register()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.Metric {
			if len(metric.Label) != 1 || metric.Label[0].GetValue() != "completed" {
				continue
			}
			switch family.GetName() {
			case "podmanager_rollouts_total":
				rollouts = metric.Counter.GetValue()
			case "podmanager_rollout_duration_seconds":
				seconds = metric.Histogram.GetSampleSum()
			}
		}
	}
	return rollouts, seconds
}

// A rollout is counted when the status shows its end, whether or not the response to the write has arrived. It is not counted again by a
// later status, by a standby, by the next leader, or for another PodManager with the same name.
func TestRolloutIsCountedOnce(t *testing.T) {
	started := metav1.NewTime(time.Date(1999, 12, 31, 23, 58, 30, 0, time.UTC)) // 90 s before the start of synctest's fake time
	rolling := v1.PodManagerStatus{UpdateRevision: "two", CurrentRevision: "one", Rollout: &v1.RolloutStatus{Revision: "two", StartedAt: &started}}
	completed := v1.PodManagerStatus{UpdateRevision: "two", CurrentRevision: "two"}
	later := completed
	later.ReadyReplicas = 1
	for name, test := range map[string]struct {
		isStandby bool
		before    v1.PodManagerStatus
		uid       string
		writes    []v1.PodManagerStatus
		want      float64
	}{
		"by its end":             {before: rolling, writes: []v1.PodManagerStatus{completed}, want: 1},
		"not by what comes on":   {before: rolling, writes: []v1.PodManagerStatus{completed, later}, want: 1},
		"not before its end":     {before: rolling, writes: []v1.PodManagerStatus{rolling}},
		"not by a standby":       {isStandby: true, before: rolling, writes: []v1.PodManagerStatus{completed}},
		"not by the next leader": {before: completed, writes: []v1.PodManagerStatus{later}},
		"not for another object": {before: rolling, uid: "other", writes: []v1.PodManagerStatus{completed}},
	} {
		t.Run(name, func(t *testing.T) {
			manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid"}, Status: test.before}
			rollouts, seconds := counted(t)
			withStandby(t, []runtime.Object{manager}, func(ctx context.Context, t *testing.T, c *Controller, scope source.Scope) {
				if !test.isStandby {
					go c.follow(ctx, scope)
				}
				synctest.Wait()
				for i, status := range test.writes {
					written := manager.DeepCopy()
					written.Status, written.ResourceVersion = status, string(rune('1'+i))
					if test.uid != "" {
						written.UID = "other"
					}
					if _, err := c.Statuses.PodManagers("ns").UpdateStatus(ctx, written, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
			})
			nowRollouts, nowSeconds := counted(t)
			if got := nowRollouts - rollouts; got != test.want || nowSeconds-seconds != 90*test.want {
				t.Errorf("%v rollouts of %v s were counted, want %v of 90 s", got, nowSeconds-seconds, test.want)
			}
		})
	}
}
