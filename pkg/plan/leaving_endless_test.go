package plan_test

import (
	"fmt"
	"testing"
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// Replacements that are scheduled to the drained or lost node again, because they tolerate its taint, are not replaced without end. The pods that were there
// first are the ones that leave, and none is deleted.
func TestReplacementsOnTheSameNode(t *testing.T) {
	for name, test := range map[string]struct {
		rules func(*v1.PodManager)
		nodes func(*Observed)
	}{"drained": {replaceDrained, cordoned("node-0")}, "lost": {replaceLost, lost(time.Hour, "node-0")}} {
		for _, replicas := range []int32{1, 3} {
			t.Run(fmt.Sprintf("%s, %d replicas", name, replicas), func(t *testing.T) {
				o := With(Observe(Manager(replicas, Limits("1", "0"), test.rules)), test.nodes)
				for index := range int(replicas) {
					o.Pods = append(o.Pods, Pod(index, OnNode("node-0"), aged(time.Hour)))
				}
				var decided Plan
				for range 20 {
					decided = Make(o)
					for _, c := range decided.Create {
						o.Pods = append(o.Pods, Pod(c.Index, OnNode("node-0"), aged(time.Minute)))
					}
					if len(decided.Delete) > 0 {
						t.Fatalf("deletes %s", decided.Delete[0].Pod.Name)
					}
				}
				if len(o.Pods) != int(2*replicas) || len(decided.Create) > 0 || len(decided.Leaving) != int(replicas) {
					t.Errorf("%d pods, %d of them leaving, and %d to be created", len(o.Pods), len(decided.Leaving), len(decided.Create))
				}
				for _, l := range decided.Leaving {
					if Now.Sub(l.CreationTimestamp.Time) != time.Hour {
						t.Errorf("%s leaves, although it is a replacement", l.Name)
					}
				}
			})
		}
	}
}
