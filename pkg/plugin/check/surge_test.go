package check_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	. "github.com/mycompany/podmanager/pkg/plugin/check"
	"github.com/mycompany/podmanager/pkg/plugin/surge"
)

func TestSurge(t *testing.T) {
	full := &requeue.Failure{Reason: v1.ReasonForbidden, Message: "exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3"}
	tests := map[string]struct {
		change       func(*Facts)
		result, says string
	}{
		"room":                       {func(*Facts) {}, OK, "needs a surge pod, because no pod may be unavailable"},
		"a quota":                    {func(f *Facts) { f.Room.Refusal = full }, Warning, "the next rollout would be blocked: quota small has no room for a surge pod"},
		"not known":                  {func(f *Facts) { f.Room = surge.Room{RefusalError: errors.New("timeout")} }, Unknown, "is not known: timeout"},
		"a pod may be unavailable":   {func(f *Facts) { plantest.Limits("1", "1")(f.Manager); f.Room.Refusal = full }, "", ""},
		"enough pods for one to go":  {func(f *Facts) { f.Manager = plantest.Manager(4); f.Room.Refusal = full }, "", ""},
		"old pods go before new are": {func(f *Facts) { plantest.Strategy(v1.RecreateStrategy)(f.Manager); f.Room.Refusal = full }, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			findings := FindingsIn(facts(test.change))
			at := slices.IndexFunc(findings, func(f Finding) bool { return f.Check == "Surge" })
			if at < 0 {
				if test.result != "" {
					t.Errorf("there is no finding: %+v", findings)
				}
				return
			}
			got := findings[at]
			if got.Result != test.result || !strings.Contains(got.Says, test.says) {
				t.Errorf("got %+v", got)
			}
			if hasAdvice := strings.Contains(got.Advice, "maxUnavailable: 1 and maxSurge: 0"); hasAdvice != (test.result == Warning) {
				t.Errorf("advice %q", got.Advice)
			}
		})
	}
}
