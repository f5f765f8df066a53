package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// exec and port-forward name the role that helps before they run kubectl, which would only say that the request is forbidden.
func TestMayRun(t *testing.T) {
	const advice = "; the role edit grants this right: kubectl create rolebinding jane-edit --clusterrole=edit --user=jane --namespace=ns"
	const unknown = "; the role edit grants this right: kubectl create rolebinding USER-edit --clusterrole=edit --user=USER --namespace=ns"
	tests := map[string]struct {
		verb string
		has  []string
		err  error
		want string
		// whoErr is why the API server does not say who the user is.
		whoErr error
	}{
		"exec":                     {verb: "exec", has: []string{"create pods/exec"}},
		"exec by WebSocket":        {verb: "exec", has: []string{"get pods/exec"}},
		"no exec":                  {verb: "exec", has: []string{"create pods/portforward"}, want: "you may not create pods/exec in namespace ns" + advice},
		"port-forward":             {verb: "port-forward", has: []string{"create pods/portforward"}},
		"no port-forward":          {verb: "port-forward", has: []string{"create pods/exec"}, want: "you may not create pods/portforward in namespace ns" + advice},
		"the rights are not known": {verb: "exec", err: errors.New("no")},
		"the user is not known":    {verb: "exec", want: "you may not create pods/exec in namespace ns" + unknown, whoErr: errors.New("no")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kube := kubefake.NewClientset()
			kube.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
				review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
				asked := review.Spec.ResourceAttributes
				if asked.Namespace != "ns" {
					t.Errorf("asked about namespace %q", asked.Namespace)
				}
				review.Status.Allowed = slices.Contains(test.has, strings.Join([]string{asked.Verb, asked.Resource + "/" + asked.Subresource}, " "))
				return true, review, test.err
			})
			kube.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
				if test.want == "" {
					t.Error("asked who the user is, although no advice is needed")
				}
				return true, &authenticationv1.SelfSubjectReview{
					Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "jane"}},
				}, test.whoErr
			})
			got := ""
			if err := (&Cluster{Kube: kube, Namespace: "ns"}).MayRun(t.Context(), test.verb); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
