package podstate_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// BecameReady reports only the first time that a pod becomes ready. A pod that was ready, or whose containers were restarted, does not count.
func TestBecameReady(t *testing.T) {
	ready := []func(*corev1.Pod){CreatedAgo(time.Minute), ReadyFor(10 * time.Second)}
	for name, test := range map[string]struct {
		old, pod *corev1.Pod
		want     bool
	}{
		"it becomes ready":           {Pod(0, NotReady), Pod(0, ready...), true},
		"it was ready":               {Pod(0, ready...), Pod(0, ready...), false},
		"it is not ready":            {Pod(0, NotReady), Pod(0, NotReady), false},
		"it is not ready any more":   {Pod(0, ready...), Pod(0, NotReady), false},
		"it was restarted meanwhile": {Pod(0, NotReady), Pod(0, append(ready, Restarted(1))...), false},
	} {
		takes, got := podstate.BecameReady(test.old, test.pod)
		if got != test.want || got && takes != 50*time.Second {
			t.Errorf("%s: %v, %v", name, got, takes)
		}
	}
}
