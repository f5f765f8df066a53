package leaving_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

func TestToForce(t *testing.T) {
	deleted := func(ago time.Duration, grace int64) *corev1.Pod {
		return Pod(0, func(p *corev1.Pod) {
			p.DeletionTimestamp = &metav1.Time{Time: Now.Add(time.Duration(grace)*time.Second - ago)}
			p.DeletionGracePeriodSeconds = ptr.To(grace)
		})
	}
	tests := map[string]struct {
		manager *v1.PodManager
		nodes   world
		pod     *corev1.Pod
		force   bool
		wait    time.Duration
	}{
		"long enough":                {manager: Manager(1, forces), nodes: lost(time.Hour, "node-0"), pod: deleted(10*time.Minute, 30), force: true},
		"not long enough":            {manager: Manager(1, forces), nodes: lost(time.Hour, "node-0"), pod: deleted(9*time.Minute, 30), wait: time.Minute},
		"lost for less":              {manager: Manager(1, forces), nodes: lost(9*time.Minute, "node-0"), pod: deleted(time.Hour, 30), wait: time.Minute},
		"the node is there":          {manager: Manager(1, forces), nodes: lost(time.Hour, "node-9"), pod: deleted(time.Hour, 30)},
		"the node is drained":        {manager: Manager(1, forces), nodes: drained("node-0"), pod: deleted(time.Hour, 30)},
		"never":                      {manager: Manager(1, losses), nodes: lost(time.Hour, "node-0"), pod: deleted(time.Hour, 30)},
		"only a finalizer is left":   {manager: Manager(1, forces), nodes: lost(time.Hour, "node-0"), pod: deleted(time.Hour, 0)},
		"without a watch on nodes":   {manager: Manager(1, forces), pod: deleted(time.Hour, 30)},
		"Recreate waits for the pod": {manager: Manager(1, Strategy(v1.RecreateStrategy), forces), nodes: lost(time.Hour, "node-0"), pod: deleted(time.Hour, 30), force: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			nodeOf := test.nodes.of
			if test.nodes == nil {
				nodeOf = nil
			}
			pods, wait := leaving.ToForce(test.manager, nodeOf, []*corev1.Pod{test.pod}, Now)
			if len(pods) > 0 != test.force || wait != test.wait {
				t.Errorf("force %v, again after %v; want %v, %v", len(pods) > 0, wait, test.force, test.wait)
			}
		})
	}
}
