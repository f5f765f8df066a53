package rollout_test

import (
	"testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plan/rollout"
)

func TestBudgetOf(t *testing.T) {
	recreate, onDelete := Strategy(v1.RecreateStrategy), Strategy(v1.OnDeleteStrategy)
	tests := map[string]struct {
		manager *v1.PodManager
		want    Budget // desired, surge, unavailable; available: at least, while marked pods are replaced, to prove a revision, to serve
	}{
		"the default for ten":         {Manager(10), Budget{10, 3, 2, 8, 8, 8, 8}},
		"the default for three":       {Manager(3), Budget{3, 1, 0, 3, 3, 3, 3}},
		"one more, none less":         {Manager(4, Limits("1", "0")), Budget{4, 1, 0, 4, 4, 4, 4}},
		"all may be unavailable":      {Manager(4, Limits("0", "100%")), Budget{4, 0, 4, 0, 0, 1, 0}},
		"more than all":               {Manager(4, Limits("0", "9")), Budget{4, 0, 4, 0, 0, 1, 0}},
		"both zero":                   {Manager(4, Limits("0", "0")), Budget{4, 0, 1, 3, 3, 3, 3}},
		"Recreate":                    {Manager(8, recreate), Budget{8, 0, 8, 0, 6, 6, 8}},
		"OnDelete":                    {Manager(8, onDelete), Budget{8, 0, 8, 0, 6, 6, 8}},
		"OnDelete, limits are unused": {Manager(8, onDelete, Limits("3", "3")), Budget{8, 0, 8, 0, 6, 6, 8}},
		"Recreate, one pod":           {Manager(1, recreate), Budget{1, 0, 1, 0, 0, 1, 1}},
		"Recreate, three pods":        {Manager(3, recreate), Budget{3, 0, 3, 0, 2, 3, 3}},
		"no pods":                     {Manager(0), Budget{0, 0, 0, 0, 0, 1, 0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := BudgetOf(test.manager); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
