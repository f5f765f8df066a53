package executor

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"

	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
)

// If a live read took long, the PodManager is looked at again before its pods are touched: a user may have deleted it meanwhile.
func TestSlowLiveReadIsRepeated(t *testing.T) {
	for age, want := range map[time.Duration]bool{0: true, 2 * time.Second: false} {
		_, ctx := ktesting.NewTestContext(t)
		manager := plantest.Manager(1)
		e := newExecutor(source.Clients{Kube: kubefake.NewClientset(), PodManagers: fake.NewSimpleClientset().AppsV1()}) // it is gone
		observed := &plan.Observed{Manager: manager, IsLive: true, Now: e.Clock.Now().Add(-age)}
		decided := plan.Plan{Adopt: []*corev1.Pod{plantest.Pod(0, plantest.Orphaned)}}
		if done, proceeds := e.Begin(ctx, cache.MetaObjectToName(manager), observed, decided); proceeds != want {
			t.Errorf("read %v ago: proceeds %v, error %v", age, proceeds, done.Err)
		}
	}
}

// aheadClock is a clock that a test moves.
type aheadClock struct {
	clock.RealClock
	ahead time.Duration
}

func (c *aheadClock) Now() time.Time                  { return c.RealClock.Now().Add(c.ahead) }
func (c *aheadClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// A webhook delays the creation of a revision, and a user deletes the PodManager meanwhile. It is looked at again before a pod is adopted.
func TestSlowStoreIsFollowedByAnotherLook(t *testing.T) {
	for delay, want := range map[time.Duration]bool{0: true, 9 * time.Second: false} {
		_, ctx := ktesting.NewTestContext(t)
		manager, orphan, slow := plantest.Manager(1), plantest.Pod(0, plantest.Orphaned), &aheadClock{}
		kube := kubefake.NewClientset(orphan)
		kube.PrependReactor("create", "controllerrevisions", func(clienttesting.Action) (bool, runtime.Object, error) {
			slow.ahead += delay
			return false, nil, nil
		})
		e := newExecutor(source.Clients{Kube: kube, PodManagers: fake.NewSimpleClientset().AppsV1()}) // it is gone
		e.Clock = slow
		key, observed := cache.MetaObjectToName(manager), &plan.Observed{Manager: manager, IsLive: true, Now: slow.Now()}
		decided := plan.Plan{Adopt: []*corev1.Pod{orphan}}
		if decided.Store, _ = history.Find(history.Sources{Manager: manager}).ToStore(true); len(decided.Store) != 1 {
			t.Fatalf("stores %d revisions", len(decided.Store))
		}
		done, proceeds := e.Begin(ctx, key, observed, decided)
		if !proceeds {
			t.Fatal(done.Err)
		}
		e.Apply(ctx, key, observed, decided, done)
		if len(done.Adopted) > 0 != want || done.Outdated == want {
			t.Errorf("after %v: adopted %d pods, outdated %v, error %v", delay, len(done.Adopted), done.Outdated, done.Err)
		}
	}
}
