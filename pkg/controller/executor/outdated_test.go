package executor

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"

	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	"github.com/mycompany/podmanager/pkg/plan"
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
