package cluster

import (
	"strings"
	"testing"

	managersfake "github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/change"
)

// Verbs change nothing in a PodManager that is being deleted, and say so, also in a dry run. The check is in Do and Scale, which all of them use.
func TestDeletedIsNotChanged(t *testing.T) {
	tests := map[string]Verb{
		"restart": change.Restart, "pause": change.Pause, "resume": change.Resume, "retry": change.Retry,
		"set image": change.SetImage(map[string]string{"app": "nginx:2"}, ""),
	}
	for name, verb := range tests {
		for _, dryRun := range []string{DryRunNone, DryRunClient, DryRunServer} {
			managers := managersfake.NewClientset()
			c := &Cluster{Managers: managers}
			_, what, err := c.Do(t.Context(), plantest.Manager(3, plantest.Deleting), verb, dryRun)
			if err == nil || !strings.HasPrefix(err.Error(), "web is being deleted, so that a change would have no effect") || !what.IsEmpty() || what.Said != "" {
				t.Errorf("%s: got %+v, %v", name, what, err)
			}
			_, scaleErr := c.Scale(t.Context(), plantest.Manager(3, plantest.Deleting), 5, -1, dryRun)
			if scaleErr == nil || scaleErr.Error() != err.Error() {
				t.Errorf("scale: got %v, want %v", scaleErr, err)
			}
			if len(managers.Actions()) > 0 {
				t.Errorf("%s: requests were sent: %v", name, managers.Actions())
			}
		}
	}
}
