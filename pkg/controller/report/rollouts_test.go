package report

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2/ktesting"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/controller/executor"
	"github.com/mycompany/podmanager/pkg/controller/memory"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
)

var (
	rolloutKey = cache.ObjectName{Namespace: "ns", Name: "web"}
	rolloutAt  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// fixedClock stands at rolloutAt.
type fixedClock struct{}

func (fixedClock) Now() time.Time                     { return rolloutAt }
func (fixedClock) Since(past time.Time) time.Duration { return rolloutAt.Sub(past) }

// rollingManager is a PodManager whose rollout began 90 s ago.
func rollingManager() *v1.PodManager {
	started := metav1.NewTime(rolloutAt.Add(-90 * time.Second))
	return &v1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid"},
		Status: v1.PodManagerStatus{
			UpdateRevision: "two", CurrentRevision: "one", Rollout: &v1.RolloutStatus{Revision: "two", StartedAt: &started},
		},
	}
}

var completedStatus = v1.PodManagerStatus{UpdateRevision: "two", CurrentRevision: "two"}

func newTestReporter(client *fake.Clientset) *Reporter {
	return &Reporter{Deps: executor.Deps{
		Clients: source.Clients{Statuses: client.AppsV1(), PodManagers: client.AppsV1()}, Tracker: consistency.NewTracker(), Memories: memory.New(),
		WriteLatency: &memory.Latency{}, Clock: fixedClock{},
	}}
}

// counted is how many rollouts have completed so far, and their seconds.
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

// loseAnswers makes the API server carry out status writes, or not, and answer none of them.
func loseAnswers(client *fake.Clientset, carryOut bool) {
	client.PrependReactor("update", "podmanagers", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if update, ok := action.(clienttesting.UpdateAction); ok && carryOut {
			_ = client.Tracker().Update(action.GetResource(), update.GetObject(), "ns")
		}
		return true, nil, context.DeadlineExceeded
	})
}

func (r *Reporter) write(t *testing.T, manager *v1.PodManager, wanted v1.PodManagerStatus) error {
	_, ctx := ktesting.NewTestContext(t)
	return r.writeStatus(ctx, rolloutKey, &executor.Outcome{Manager: manager}, wanted)
}

// stored is the PodManager at the API server, as the next sync observes it.
func stored(t *testing.T, client *fake.Clientset) *v1.PodManager {
	t.Helper()
	manager, err := client.AppsV1().PodManagers("ns").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return manager
}

// expectCounted checks that rollouts were counted since before, and settles what the next two syncs find.
func (r *Reporter) expectCounted(t *testing.T, client *fake.Clientset, beforeCount, beforeSeconds float64, want float64) {
	t.Helper()
	for range 2 {
		r.settleUncertainEnd(t.Context(), rolloutKey, stored(t, client))
	}
	rollouts, seconds := counted(t)
	if rollouts -= beforeCount; rollouts != want || seconds-beforeSeconds != 90*want {
		t.Errorf("%v rollouts of %v s were counted, want %v of 90 s", rollouts, seconds-beforeSeconds, want)
	}
}

func TestRolloutIsCountedOnce(t *testing.T) {
	t.Run("written", func(t *testing.T) {
		client := fake.NewSimpleClientset(rollingManager())
		r := newTestReporter(client)
		rollouts, seconds := counted(t)
		if err := r.write(t, rollingManager(), completedStatus); err != nil {
			t.Fatal(err)
		}
		r.expectCounted(t, client, rollouts, seconds, 1)
		if err := r.write(t, stored(t, client), completedStatus); err != nil { // another sync, or the next leader
			t.Fatal(err)
		}
		r.expectCounted(t, client, rollouts, seconds, 1)
	})
	t.Run("written, and the answer is lost", func(t *testing.T) {
		client := fake.NewSimpleClientset(rollingManager())
		r := newTestReporter(client)
		rollouts, seconds := counted(t)
		loseAnswers(client, true)
		if err := r.write(t, rollingManager(), completedStatus); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		r.settleUncertainEnd(t.Context(), rolloutKey, rollingManager()) // the cache has not seen it yet
		if now, _ := counted(t); now != rollouts {
			t.Error("counted before anybody knows that it was written")
		}
		r.expectCounted(t, client, rollouts, seconds, 1)
	})
	t.Run("not written, and written the next time", func(t *testing.T) {
		client := fake.NewSimpleClientset(rollingManager())
		r := newTestReporter(client)
		rollouts, seconds := counted(t)
		loseAnswers(client, false)
		if err := r.write(t, rollingManager(), completedStatus); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		r.expectCounted(t, client, rollouts, seconds, 0)
		client.ReactionChain = client.ReactionChain[1:]
		if err := r.write(t, rollingManager(), completedStatus); err != nil {
			t.Fatal(err)
		}
		r.expectCounted(t, client, rollouts, seconds, 1)
	})
	t.Run("the answer is lost, and the object is replaced", func(t *testing.T) {
		client := fake.NewSimpleClientset(rollingManager())
		r := newTestReporter(client)
		rollouts, seconds := counted(t)
		loseAnswers(client, false)
		if err := r.write(t, rollingManager(), completedStatus); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		other := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "other"}}
		if err := client.Tracker().Update(v1.Resource("podmanagers").WithVersion("v1"), other, "ns"); err != nil {
			t.Fatal(err)
		}
		r.expectCounted(t, client, rollouts, seconds, 0)
	})
	t.Run("another controller has written it", func(t *testing.T) {
		written := rollingManager()
		written.Status = completedStatus
		client := fake.NewSimpleClientset(written)
		r := newTestReporter(client)
		rollouts, seconds := counted(t)
		r.noteUncertainEnd(rolloutKey, rollingManager(), &completedStatus, errOtherController)
		r.expectCounted(t, client, rollouts, seconds, 0)
	})
}
