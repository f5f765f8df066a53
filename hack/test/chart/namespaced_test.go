//go:build e2e

package chart

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	"github.com/mycompany/podmanager/pkg/controller/access"
)

// A user who may do everything in one namespace, and nothing elsewhere, installs the controller there. The controller serves that namespace, has
// no permissions outside, sends no requests about other namespaces, and logs no warnings or errors.
func TestNamespaced(t *testing.T) {
	for name, install := range map[string]func(t *testing.T, namespace, user string){"helm": installChart, "kustomize": installKustomization} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inside, outside := newNamespace(t), newNamespace(t)
			log, err := audit.Open(os.Getenv("PODMANAGER_AUDIT_LOG"))
			if err != nil {
				t.Fatal(err)
			}
			install(t, inside, newTenant(t, inside))
			controller := runDeployed(t, inside)
			apply(t, outside, "other", "replicas: 1, image: nginx")
			apply(t, inside, "web", "replicas: 2, image: nginx")
			awaitReady(t, inside, "web", 2)
			apply(t, inside, "web", "replicas: 3, image: 'nginx:2'")
			awaitReady(t, inside, "web", 3)

			if status := manager(t, outside, "other").Status; status.ObservedGeneration != -1 || status.Replicas != 0 {
				t.Errorf("the PodManager of another namespace was served: %+v", status)
			}
			hasRightsIn(t, inside, inside, true)
			hasRightsIn(t, inside, outside, false)
			hasRightsIn(t, inside, metav1.NamespaceAll, false)
			if seen, err := controller.Ready(); err != nil || !strings.Contains(seen, "[!]policy: not known whether the policies are in force, since the controller has no rights outside its namespaces") {
				t.Errorf("/readyz?verbose says %q, %v", seen, err)
			}
			staysInside(t, log, inside)
			isCalm(t, controller)
			readsMetrics(t, controller, outside, http.StatusServiceUnavailable) // it may not authenticate users, so it refuses all of them
		})
	}
}

// newTenant allows a user to do everything in one namespace.
func newTenant(t *testing.T, namespace string) string {
	t.Helper()
	user := "tenant-of-" + namespace
	kubectl(t, "", "create", "role", "everything", "--verb=*", "--resource=*.*", "--namespace", namespace)
	kubectl(t, "", "create", "rolebinding", "everything", "--role=everything", "--user", user, "--namespace", namespace)
	return user
}

func installChart(t *testing.T, namespace, user string) {
	t.Helper()
	helm(t, "install", "podmanager", shared.chart, withImage, "--kube-as-user", user, "--namespace", namespace, "--wait", "--timeout", "3m",
		"--set", "namespaces={"+namespace+"},crds.enabled=false,priorityClassName=")
}

func installKustomization(t *testing.T, namespace, user string) {
	t.Helper()
	folder := t.TempDir()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	artifacts, err := filepath.Rel(folder, filepath.Join(root, "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	kustomization := fmt.Sprintf("kind: Kustomization\nnamespace: %s\nresources: [%s]\ncomponents: [%s/namespaced]\n", namespace, artifacts, artifacts)
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(kustomization), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "", "apply", "--as", user, "-k", folder)
	kubectl(t, "", "rollout", "status", "deployment/"+controllerName, "--namespace", namespace, "--timeout", harness.Patience.String())
}

// hasRightsIn checks that the controller of the namespace home has all of its permissions in a namespace or, if want is false, none of them.
func hasRightsIn(t *testing.T, home, namespace string, want bool) {
	t.Helper()
	for _, right := range access.All {
		resource, subresource, _ := strings.Cut(right.Resource, "/")
		review, err := shared.cluster.Kube.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: accountUser(home), Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + home, "system:authenticated"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: namespace, Verb: right.Verb, Group: right.Group, Resource: resource, Subresource: subresource,
				},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != want {
			t.Errorf("the controller of %s may %v in %q: %v, want %v", home, right, namespace, review.Status.Allowed, want)
		}
	}
}

func accountUser(namespace string) string {
	return "system:serviceaccount:" + namespace + ":" + controllerName
}

// staysInside checks that the controller has sent no request about another namespace, and none that was refused.
func staysInside(t *testing.T, log *audit.Log, namespace string) {
	t.Helper()
	requests, err := log.Read(accountUser(namespace))
	if err != nil {
		t.Fatal(err)
	}
	// With these requests, the controller asks for its own permissions. They have no namespace.
	reviews := []string{"selfsubjectaccessreviews", "selfsubjectreviews"}
	count := 0
	for _, r := range requests {
		if r.User.Username != accountUser(namespace) {
			continue
		}
		count++
		isOutside := r.ObjectRef.Resource != "" && r.ObjectRef.Namespace != namespace && !slices.Contains(reviews, r.ObjectRef.Resource)
		if isOutside || r.ResponseStatus.Code == http.StatusForbidden {
			t.Errorf("the controller of %s has sent a request about another namespace, or a forbidden one: %v", namespace, r)
		}
	}
	if count < 20 { // three lists, three watches, five pods created and two deleted, and a review for each permission
		t.Errorf("the audit log has only %d requests of %s", count, accountUser(namespace))
	}
}

// isCalm checks that the log has no warnings or errors, and a limited number of lines.
func isCalm(t *testing.T, controller *lab.Process) {
	t.Helper()
	lines := logged(t, controller, "")
	t.Logf("the log has %d lines", len(lines))
	for _, line := range lines {
		if strings.HasPrefix(line, "E") || strings.HasPrefix(line, "W") {
			t.Errorf("the controller complains: %s", line)
		}
	}
	if len(lines) > 60 {
		t.Errorf("the log has %d lines:\n%s", len(lines), strings.Join(lines, ""))
	}
}
