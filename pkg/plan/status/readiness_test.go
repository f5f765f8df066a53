package status_test

import (
	"testing"
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plan/status"
)

func TestBackOffIsReported(t *testing.T) {
	waiting := plan.Make(Observe(Manager(1), FailedPod(0, time.Second, 2))).Waiting
	report := Reported(Manager(1), FailedPod(0, time.Second, 2))
	report.Plan.Waiting = waiting
	status, _ := Compute(report)
	for _, condition := range status.Conditions {
		if condition.Type != v1.ConditionReady {
			continue
		}
		want := "0 of 1 pod exists; web-0 has failed: container app: Error, exit code 1 (3 in a row), next try at 2026-01-02T03:04:24Z"
		if condition.Reason != v1.ReasonBackOff || condition.Message != want {
			t.Errorf("Ready says %s: %s\nwant %s", condition.Reason, condition.Message, want)
		}
	}
}
