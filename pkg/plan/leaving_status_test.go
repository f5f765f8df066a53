package plan_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// The status names the pods that leave, in the order of their indices, with the cause of each.
func TestLeavingPodsInStatus(t *testing.T) {
	everything := disrupted(v1.Disruption{OnDrain: v1.ReplaceDrain, NodeLoss: &v1.NodeLoss{ReplaceAfterSeconds: ptr.To[int32](60)}, MaxPodAgeSeconds: ptr.To[int32](3600)})
	nodes := onNodes(map[string]leaving.Node{"node-10": {Draining: "is cordoned"}, "node-2": {LostSince: Now.Add(-time.Hour)}})
	young := aged(time.Minute)
	o := With(Observe(Manager(3, Limits("1", "0"), everything), Pod(10, young), Pod(2, young), Pod(3), Pod(4, young), Pod(5, young)), nodes)
	told, _ := status.Compute(Planned(o))
	want := []v1.LeavingPod{
		{Name: "web-2", Cause: v1.LeavingForNodeLoss, Message: "node node-2 is lost since 2026-01-02T02:04:05Z"},
		{Name: "web-3", Cause: v1.LeavingForAge, Message: "older than maxPodAgeSeconds of 1h0m0s"},
		{Name: "web-10", Cause: v1.LeavingForDrain, Message: "node node-10 is cordoned"},
	}
	if !slices.Equal(told.LeavingPods, want) || told.LeavingReplicas != 3 {
		t.Errorf("%d leave: %v", told.LeavingReplicas, told.LeavingPods)
	}
}
