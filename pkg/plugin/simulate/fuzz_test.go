package simulate_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
)

// For any file and any options, a simulation ends, its totals match its steps, and it stays within the limits.
func FuzzRun(f *testing.F) {
	f.Add("2", "25%", "25%", "0", "v2", "every 3", uint8(3), uint16(5))
	f.Add("1", "100%", "0", "50%", "nginx", "web-1", uint8(0), uint16(0))
	f.Add("0", "0", "x", "-1", "", "every 0", uint8(4), uint16(700))
	f.Add("3", "1", "9223372036854775807%", "100%", "\x00", "every", uint8(255), uint16(60))
	f.Fuzz(func(t *testing.T, replicas, surge, unavailable, partition, image, fail string, kinds uint8, ready uint16) {
		choice, err := simulate.ParseChoice("--fail", []string{fail})
		if err != nil {
			if !strings.Contains(err.Error(), "--fail") {
				t.Errorf("the error does not name the flag: %v", err)
			}
			return
		}
		count := intstr.Parse(replicas).IntVal % 5
		never, _ := simulate.ParseChoice("--never-ready", nil)
		live := atRest(max(1, count))
		wanted := with(live, Image(image), Limits(surge, unavailable), Partition(partition), func(m *v1.PodManager) {
			m.Spec.Replicas = &count
			m.Spec.UpdateStrategy.Type = []v1.UpdateStrategyType{v1.RollingUpdateStrategy, v1.RecreateStrategy, v1.OnDeleteStrategy}[kinds%3]
			m.Spec.FailurePolicy.OnFailure = []v1.FailureAction{v1.ContinueOnFailure, v1.HaltOnFailure, v1.RollbackOnFailure}[kinds/3%3]
			m.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = []v1.PodUpdatePolicy{v1.RecreatePods, v1.InPlaceIfPossible, v1.InPlaceOnly}[kinds/9%3]
		})
		options := simulate.Options{ReadyAfter: time.Duration(ready) * time.Second, StopAfter: time.Second, Fail: choice, NeverReady: never}
		report, err := simulate.Run(live, wanted, options)
		if err != nil && strings.Contains(err.Error(), "--fail") { // it names no pod: no pod fails
			options.Fail = never
			report, err = simulate.Run(live, wanted, options)
		}
		if err != nil {
			t.Fatalf("it cannot be simulated: %v", err)
		}
		if most := max(live.Manager.DesiredReplicas(), wanted.DesiredReplicas()) + wanted.MaxSurge(); report.Totals.MostPods > most {
			t.Errorf("%d pods, at most %d are allowed", report.Totals.MostPods, most)
		}
		least := min(live.Manager.DesiredReplicas(), wanted.DesiredReplicas()) - wanted.MaxUnavailable()
		if isSafe := !strings.Contains(fail, "every") && !strings.Contains(fail, "web-"); isSafe && report.Totals.LowestAvailable < least {
			t.Errorf("%d pods available, and %d have to be", report.Totals.LowestAvailable, least)
		}
		checkTotals(t, report)
	})
}

// checkTotals checks that the totals match the steps.
func checkTotals(t *testing.T, report simulate.Report) {
	t.Helper()
	created := 0
	for _, step := range report.Steps {
		if step.Old < 0 || step.New < 0 || step.Available < 0 {
			t.Errorf("counts below zero: %+v", step)
		}
		for _, event := range step.Events {
			if event.Action == simulate.Created {
				created++
			}
		}
	}
	if created != report.Totals.Created {
		t.Errorf("%d pods created in the steps, %d in all", created, report.Totals.Created)
	}
}
