package access

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"
)

func TestAccess(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
	tests := map[string]struct {
		namespace          string
		deny               []Right
		getErr, reviewErr  error // from getting the namespace, and from access reviews
		missing, mayRead   bool
		lacking, wantError string
	}{
		"all":                   {namespace: "a", mayRead: true},
		"no such namespace":     {namespace: "b", missing: true},
		"may not look for it":   {namespace: "b", getErr: forbidden, mayRead: true},
		"all namespaces":        {namespace: "", mayRead: true},
		"may not list":          {namespace: "a", deny: RightsOn("", "pods", "list", "watch"), lacking: "list, watch pods"},
		"may not list anywhere": {namespace: "", deny: RightsOn("apps", "controllerrevisions", "list"), lacking: "list controllerrevisions.apps"},
		"may not change": {namespace: "a", mayRead: true,
			deny:    slices.Concat(RightsOn("", "pods/resize", "patch"), RightsOn("apps.mycompany.com", "podmanagers/status", "update")),
			lacking: "update podmanagers.apps.mycompany.com/status; patch pods/resize"},
		"may not ask":        {namespace: "a", reviewErr: forbidden, mayRead: true},
		"no answer":          {namespace: "a", reviewErr: errors.New("away"), wantError: "away"},
		"no answer about it": {namespace: "a", getErr: errors.New("away"), wantError: "away"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client := kubefake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
			client.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
				return test.getErr != nil, nil, test.getErr
			})
			client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
				review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
				asked := review.Spec.ResourceAttributes
				resource := strings.TrimSuffix(asked.Resource+"/"+asked.Subresource, "/")
				isDenied := slices.Contains(test.deny, Right{asked.Group, resource, asked.Verb})
				review.Status.Allowed = !isDenied && asked.Namespace == test.namespace
				return true, review, test.reviewErr
			})
			client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, &authenticationv1.SelfSubjectReview{
					Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "jane"}},
				}, nil
			})
			got, err := Review(t.Context(), client, test.namespace, All)
			if (err == nil) != (test.wantError == "") || err != nil && !strings.Contains(err.Error(), test.wantError) {
				t.Fatalf("error %v, want %q", err, test.wantError)
			}
			if err != nil {
				return
			}
			if got.Missing != test.missing || got.MayRead() != test.mayRead || describe(got.Lacking) != test.lacking {
				t.Errorf("got %+v: the informers may read: %v, the controller lacks %q", got, got.MayRead(), describe(got.Lacking))
			}
			if len(got.Lacking) > 0 && got.User != "jane" {
				t.Errorf("the user is %q, want jane", got.User)
			}
		})
	}
}

// All has exactly the rights that artifacts/rbac.yaml grants.
func TestManifestGrantsAllRights(t *testing.T) {
	data, err := os.ReadFile("../../../artifacts/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	given := map[Right]bool{}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind != "ClusterRole" || role.Name != "podmanager-controller" {
			continue
		}
		for _, rule := range role.Rules {
			if rule.APIGroups[0] == "admissionregistration.k8s.io" {
				continue // the right to read policies is for a note in /readyz: the controller works without it
			}
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					given[Right{rule.APIGroups[0], resource, verb}] = true
				}
			}
		}
	}
	// With this right the controller can tell a namespace that does not exist from an empty one. It works without the right, so All does not
	// have it.
	delete(given, Right{"", "namespaces", "get"})
	// spec.disruption needs these rights. Without them, the condition Misconfigured of such a PodManager says so, and everything else works.
	delete(given, Right{"", "nodes", "list"})
	delete(given, Right{"", "nodes", "watch"})
	for _, right := range All {
		if !given[right] {
			t.Errorf("All contains %v, but rbac.yaml does not grant it", right)
		}
		delete(given, right)
	}
	for right := range given {
		t.Error(fmt.Sprint(right), "is granted by rbac.yaml, but not in All")
	}
}
