package cluster

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	managersfake "github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
)

// What the user may not read is missing, and the refusal says who the user is.
func TestReadNamesTheUser(t *testing.T) {
	tests := map[string]struct {
		hidden []string
		user   string
	}{
		"all is readable": {nil, ""},
		"no pods":         {[]string{kindPods}, "jane"},
		"no revisions":    {[]string{kindRevisions}, "jane"},
		"neither":         {[]string{kindPods, kindRevisions}, "jane"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kube := kubefake.NewClientset()
			kube.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
				resource := action.GetResource().GroupResource()
				if !slices.Contains(test.hidden, resource.Resource) {
					return false, nil, nil
				}
				return true, nil, apierrors.NewForbidden(resource, "",
					fmt.Errorf(`User "jane" cannot list resource %q in API group %q in the namespace "ns"`, resource.Resource, resource.Group))
			})
			c := &Cluster{Kube: kube, Managers: managersfake.NewClientset(plantest.Manager(1))}
			got, err := c.Read(t.Context(), Selection{Namespace: "ns", Names: []string{"web"}})
			if err != nil || len(got) != 1 {
				t.Fatalf("got %v, %v", got, err)
			}
			if !slices.Equal(got[0].Missing, test.hidden) || got[0].User != test.user {
				t.Errorf("%v is missing for %q", got[0].Missing, got[0].User)
			}
		})
	}
}
