package follow_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plugin/follow"
)

func TestRefuseDeleted(t *testing.T) {
	const refused = "web is being deleted, so that a change would have no effect, and none was made"
	const hint = "; run 'kubectl pm why web -n ns' to see what the deletion waits for"
	tests := map[string]struct {
		isDeleted  bool
		finalizers []string
		reason     string
		want       string
	}{
		"not deleted":                   {finalizers: []string{v1.Finalizer}, reason: v1.ReasonAllAvailable},
		"one finalizer":                 {true, []string{v1.Finalizer}, v1.ReasonTerminating, refused + "; the finalizer " + v1.Finalizer + " keeps it; the controller says: so it is" + hint},
		"two finalizers":                {true, []string{"a", "b"}, v1.ReasonTerminating, refused + "; the finalizers a and b keep it; the controller says: so it is" + hint},
		"three, and an outdated status": {true, []string{"a", "b", "c"}, v1.ReasonAllAvailable, refused + "; the finalizers a, b and c keep it" + hint},
		"nothing is known":              {true, nil, "", refused + hint},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := plantest.Manager(3)
			m.Finalizers = test.finalizers
			if test.isDeleted {
				plantest.Deleting(m)
			}
			if test.reason != "" {
				m.Status.Conditions = []metav1.Condition{condition(v1.ConditionReady, metav1.ConditionFalse, test.reason)}
			}
			got := ""
			if err := RefuseDeleted(m); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
