package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
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

// Scale sends only requests that the role podmanager-edit allows to a user who may read PodManagers. If the PodManager has changed since it was read,
// nothing is scaled that the user has not asked for.
func TestScale(t *testing.T) {
	tests := map[string]struct {
		replicas, expected int32
		dryRun             string
		// live is the number of replicas in the cluster. The plugin has read 3.
		live int32
		want []string
		said string
	}{
		"another number":            {5, -1, DryRunNone, 3, []string{"update 7 to 5"}, "was 3"},
		"the expected number":       {5, 3, DryRunNone, 3, []string{"update 7 to 5"}, "was 3"},
		"an unexpected number":      {5, 2, DryRunNone, 3, nil, "spec.replicas of web is 3, not 2 as --current-replicas says; nothing was changed"},
		"the number that it has":    {3, -1, DryRunNone, 3, nil, "was 3"},
		"a dry run of the client":   {5, -1, DryRunClient, 3, nil, "was 3"},
		"a dry run of the server":   {5, -1, DryRunServer, 3, []string{"update 7 to 5"}, "was 3"},
		"another client scaled it":  {5, -1, DryRunNone, 4, []string{"update 7 to 5", "get", "update 8 to 5"}, "was 4"},
		"... to the same number":    {5, -1, DryRunNone, 5, []string{"update 7 to 5", "get"}, "was 5"},
		"... from what is expected": {5, 3, DryRunNone, 4, []string{"update 7 to 5", "get"}, "spec.replicas of web is 4, not 3 as"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			read := func(replicas int32, version string) *v1.PodManager {
				return plantest.Manager(replicas, func(m *v1.PodManager) { m.ResourceVersion = version })
			}
			live := read(test.live, "7")
			if test.live != 3 {
				live.ResourceVersion = "8"
			}
			var sent []string
			managers := managersfake.NewClientset()
			managers.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
				written, isUpdate := action.(clienttesting.UpdateAction)
				if !isUpdate {
					sent = append(sent, strings.TrimSuffix(action.GetVerb()+" "+action.GetSubresource(), " "))
					return true, live, nil
				}
				scale := written.GetObject().(*autoscalingv1.Scale)
				sent = append(sent, fmt.Sprintf("update %s to %d", scale.ResourceVersion, scale.Spec.Replicas))
				if scale.ResourceVersion != live.ResourceVersion {
					return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "podmanagers"}, "web", nil)
				}
				return true, scale, nil
			})
			before, err := (&Cluster{Managers: managers}).Scale(t.Context(), read(3, "7"), test.replicas, test.expected, test.dryRun)
			said := fmt.Sprintf("was %d", before)
			if err != nil {
				said = err.Error()
			}
			if !slices.Equal(sent, test.want) || !strings.Contains(said, test.said) {
				t.Errorf("sent %q, and said %q", sent, said)
			}
		})
	}
}
