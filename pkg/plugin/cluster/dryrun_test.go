package cluster

import (
	"errors"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	managersfake "github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/change"
	"github.com/mycompany/podmanager/pkg/plugin/manifest"
)

// refusing returns a cluster that refuses each patch of a PodManager with this reason. The user has every right but lacks, such as "create pods".
func refusing(reason, lacks string) *Cluster {
	managers, kube := managersfake.NewClientset(), kubefake.NewClientset()
	managers.PrependReactor("patch", "podmanagers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: v1.GroupName, Resource: "podmanagers"}, "web", errors.New(reason))
	})
	kube.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = asked.Verb+" "+asked.Resource != lacks
		return true, review, nil
	})
	return &Cluster{Managers: managers, Kube: kube, Server: "https://server"}
}

// If the user lacks a right that a change needs, the result of the change comes with a warning, which names the right. If the API server refuses the
// change itself, that is an error.
func TestTryWithoutRights(t *testing.T) {
	const (
		rbac   = `User "jane" cannot patch resource "podmanagers" in API group "apps.mycompany.com" in the namespace "ns"`
		policy = `ValidatingAdmissionPolicy 'podmanager-pod-rights' denied request: user "jane" may not create pods in namespace "ns", and a PodManager would do it for them`
	)
	tests := map[string]struct {
		reason, lacks string
		warning, err  string
	}{
		"may not patch":           {rbac, "patch podmanagers", "the role podmanager-edit (a Helm release may give it another name) grants this right: kubectl create rolebinding", ""},
		"may not create pods":     {policy, "create pods", "the role edit grants this right: kubectl create rolebinding jane-edit --clusterrole=edit --user=jane --namespace=ns", ""},
		"a refusal of the change": {"not on Fridays", "", "", "not on Fridays"},
	}
	file := manifest.Manifest{Manager: plantest.Manager(3, plantest.Image("v2")), Fields: map[string]any{"spec": map[string]any{"image": "v2"}}}
	tries := map[string]func(*testing.T, *Cluster) (*v1.PodManager, string, error){
		"a file": func(t *testing.T, c *Cluster) (*v1.PodManager, string, error) {
			return c.TryApply(t.Context(), plantest.Manager(3), file)
		},
		"a file of a new one": func(t *testing.T, c *Cluster) (*v1.PodManager, string, error) {
			return c.TryApply(t.Context(), nil, file)
		},
		"an image": func(t *testing.T, c *Cluster) (*v1.PodManager, string, error) {
			return c.TryVerb(t.Context(), plantest.Manager(3), change.SetImage(map[string]string{"app": "v2"}, ""))
		},
	}
	for name, test := range tests {
		for what, try := range tries {
			t.Run(name+", "+what, func(t *testing.T) {
				wanted, warning, err := try(t, refusing(test.reason, test.lacks))
				if test.err != "" {
					if err == nil || !strings.Contains(err.Error(), test.err) || warning != "" {
						t.Errorf("got the error %v and the warning %q", err, warning)
					}
					return
				}
				if err != nil || wanted == nil || wanted.Spec.Image != "v2" || !strings.Contains(warning, test.warning) || strings.Contains(warning, "\n") {
					t.Errorf("got %+v, the warning %q, the error %v", wanted, warning, err)
				}
			})
		}
	}
}
