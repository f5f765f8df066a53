package status_test

import (
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	. "github.com/mycompany/podmanager/pkg/plan/status"
)

// If a quota has no room for the surge, Ready names the quota, and the setting with which a rollout needs no surge. If desired pods are missing,
// Ready does not name that setting, because it would not help.
func TestQuotaForTheSurge(t *testing.T) {
	const quota, hint = `creating pod web-3: pods "web-3" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`,
		"; quota small has no room for the surge: raise it, or set maxUnavailable: 1 and maxSurge: 0"
	tests := map[string]struct {
		observed plan.Observed
		message  string
		want     string
	}{
		"a surge":              {RollingOut(Next(3, Limits("1", "0")), Pods3()...), quota, "3 of 3 pods exist; " + quota + hint},
		"a desired pod":        {RollingOut(Next(3, Limits("1", "0")), Pod(0), Pod(1)), quota, "2 of 3 pods exist; " + quota},
		"no surge":             {RollingOut(Next(3, Limits("0", "1")), Pods3()...), quota, "3 of 3 pods exist; " + quota},
		"not a rolling update": {RollingOut(Next(3, Strategy(v1.RecreateStrategy)), Pods3()...), quota, "3 of 3 pods exist; " + quota},
		"another refusal":      {RollingOut(Next(3, Limits("1", "0")), Pods3()...), "violates PodSecurity", "3 of 3 pods exist; violates PodSecurity"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := ReportOf(test.observed)
			report.Failure = &requeue.Failure{Condition: v1.ReasonFailedCreate, Reason: v1.ReasonForbidden, Message: test.message}
			status, _ := Compute(report)
			if got := MessageIn(&status, v1.ConditionReady); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
