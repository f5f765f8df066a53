package rollout_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// Disruptions neither halt nor roll back a new revision.
func TestDisruptionsCondemnNobody(t *testing.T) {
	m := Next(3, Limits("0", "1"), OnFailure(v1.RollbackOnFailure))
	grace := int32(0)
	m.Spec.FailurePolicy.GracePeriodSeconds = &grace
	replacement := Pod(3, V2, Phase(corev1.PodPending), After(1), Replacing("web-2"))
	replacement.Annotations[v1.AnnotationDisruptionsBefore] = "1"
	for name, pods := range map[string][]*corev1.Pod{
		"not replaced yet":                            {Pod(0), Pod(1), FailedPod(2, time.Second, 0, V2, Evicted)},
		"the replacement is late":                     {Pod(0), Pod(1), FailedPod(2, time.Second, 0, V2, Evicted), replacement},
		"its containers have terminated, the pod not": {Pod(0), Pod(1), Pod(2, V2, Targeted(corev1.ConditionTrue), Container(Terminated("Error", 137), corev1.ContainerState{}), Targeted(corev1.ConditionTrue))},
	} {
		t.Run(name, func(t *testing.T) {
			status, _ := status.Compute(ReportOf(RollingOut(m, pods...)))
			if ready := meta.FindStatusCondition(status.Conditions, v1.ConditionReady); status.FailedRevision != "" || ready.Reason != v1.ReasonRollingOut {
				t.Errorf("failed revision %q, Ready says %s: %s", status.FailedRevision, ready.Reason, ready.Message)
			} else if len(pods) != 3 || podstate.IsFinished(pods[2]) {
				if want := "; web-2 was disrupted: Evicted: low on memory"; !strings.Contains(ready.Message, want) {
					t.Errorf("Ready says %q, and not %q", ready.Message, want)
				}
			}
		})
	}
}
