//go:build e2e

package chart

import (
	"context"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
)

// A Helm release takes over the objects that kubectl apply has installed. It is upgraded with its CRD, rolled back and uninstalled. None of these
// steps affects PodManagers and their pods. A new release takes over the CRD that the uninstall has left behind.
func TestLifecycle(t *testing.T) {
	namespace := newNamespace(t)
	inSystem := []string{"--namespace", systemSpace, "--timeout", "3m"}
	run := func(arguments ...string) string { t.Helper(); return helm(t, append(arguments, inSystem...)...) }

	run("uninstall", "podmanager", "--ignore-not-found", "--wait") // an interrupted run may have left the release
	notes := run("install", "podmanager", shared.previous, withImage, "--take-ownership", "--force-conflicts", "--wait")
	if want := "kubectl --namespace " + systemSpace + " rollout status deployment/" + controllerName; !strings.Contains(notes, want) {
		t.Errorf("the notes do not say what to type, %q:\n%s", want, notes)
	}
	if want := "kubectl annotate crd podmanagers.apps.mycompany.com apps.mycompany.com/allow-deletion=true"; !strings.Contains(notes, want) {
		t.Errorf("the notes do not say how to delete the CRD, %q:\n%s", want, notes)
	}
	installed(t, "v0.9.0", formerShortName)
	controller := runDeployed(t, systemSpace)
	apply(t, namespace, "web", "replicas: 3, image: nginx")
	before := awaitReady(t, namespace, "web", 3)

	run("upgrade", "podmanager", shared.chart, withImage, "--wait")
	installed(t, "v1.0.0", shortName)
	stop(t, controller)
	controller = runDeployed(t, systemSpace)
	untouched(t, namespace, before, "helm upgrade")
	kubectl(t, "", "scale", "podmanagers/web", "--replicas", "2", "--namespace", namespace)
	before = awaitReady(t, namespace, "web", 2)
	readsMetrics(t, controller, namespace, http.StatusForbidden) // the release allows the controller to authenticate the user

	run("rollback", "podmanager", "1", "--wait")
	installed(t, "v0.9.0", formerShortName)
	stop(t, controller)
	controller = runDeployed(t, systemSpace)
	untouched(t, namespace, before, "helm rollback")

	run("uninstall", "podmanager", "--wait")
	stop(t, controller)
	gone(t)
	// The uninstall has removed the permissions of the controller, so the controller could not release its Lease when it stopped. The next controller
	// would wait until the Lease expires.
	kubectl(t, "", "delete", "lease", controllerName, "--namespace", systemSpace)
	untouched(t, namespace, before, "helm uninstall")

	run("install", "podmanager", shared.chart, withImage, "--wait")
	installed(t, "v1.0.0", shortName)
	controller = runDeployed(t, systemSpace)
	kubectl(t, "", "scale", "podmanagers/web", "--replicas", "3", "--namespace", namespace)
	awaitReady(t, namespace, "web", 3)
	stop(t, controller)
	run("uninstall", "podmanager", "--wait")
}

// The CRD of a release cannot be deleted until crds.keep is false. Then it is deleted with the release.
func TestUninstallWithCRD(t *testing.T) {
	namespace := newNamespace(t)
	run := func(arguments ...string) {
		t.Helper()
		helm(t, append(arguments, "--namespace", systemSpace, "--wait", "--timeout", "3m")...)
	}
	run("uninstall", "podmanager", "--ignore-not-found") // an interrupted run may have left the release
	run("install", "podmanager", shared.chart, withImage, "--take-ownership", "--force-conflicts")
	t.Cleanup(func() { // for the other tests
		if err := shared.cluster.InstallCRD(context.Background()); err != nil {
			t.Error(err)
		}
	})
	apply(t, namespace, "web", "replicas: 1, image: nginx")
	harness.Await(t, "the policy to be in force", func() (any, bool) {
		out, err := shared.cluster.Kubectl(t.Context(), "delete", "crd/podmanagers.apps.mycompany.com", "--dry-run=server")
		return out, err != nil && strings.Contains(out, "podmanager-crd-deletion")
	})
	run("upgrade", "podmanager", shared.chart, withImage, "--set", "crds.keep=false")
	run("uninstall", "podmanager")
	gone(t)
	harness.Await(t, "the CRD to be gone", func() (any, bool) {
		out := kubectl(t, "", "get", "crd", "--output", "name")
		return out, !strings.Contains(out, "podmanagers.apps.mycompany.com")
	})
}

// If the user has made Helm the owner of the CRD's fields before, as the README says, upgrades need no flags.
func TestTakeOverGiven(t *testing.T) {
	notes := takeOver(t, func() {
		kubectl(t, "", "apply", "--server-side", "--force-conflicts", "--field-manager=helm", "-f", "artifacts/crd.yaml")
	})
	if strings.Contains(notes, "--force-conflicts") {
		t.Errorf("the notes name flags that are not needed:\n%s", notes)
	}
	helm(t, "upgrade", "podmanager", shared.previous, withImage, "--namespace", systemSpace, "--wait", "--timeout", "3m")
	installed(t, "v0.9.0", formerShortName)
}

// takeOver calls prepare, and then installs a release that takes over the CRD, which kubectl has applied. It returns the release's notes. When the
// test is over, it uninstalls the release.
func takeOver(t *testing.T, prepare func()) string {
	t.Helper()
	inSystem := []string{"--namespace", systemSpace, "--wait", "--timeout", "3m"}
	uninstall := append([]string{"uninstall", "podmanager", "--ignore-not-found"}, inSystem...)
	helm(t, uninstall...) // an interrupted run may have left the release
	if err := applyCRD(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if out, err := exec.CommandContext(ctx, shared.helm, uninstall...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if err := applyCRD(ctx); err != nil { // the other tests need this CRD
			t.Error(err)
		}
	})
	prepare()
	return helm(t, append([]string{"install", "podmanager", shared.chart, withImage, "--take-ownership"}, inSystem...)...)
}

// applyCRD replaces the CRD by one that kubectl alone has applied.
func applyCRD(ctx context.Context) error {
	const crd = "crd/podmanagers.apps.mycompany.com"
	for _, arguments := range [][]string{
		{"annotate", crd, "--overwrite", "apps.mycompany.com/allow-deletion=true"},
		{"delete", crd, "--timeout", harness.Patience.String()},
	} {
		if _, err := shared.cluster.Kubectl(ctx, arguments...); err != nil {
			return err
		}
	}
	return shared.cluster.InstallCRD(ctx)
}

// installed checks the Deployment's image and replicas, and that the CRD came with the release.
func installed(t *testing.T, version, shortName string) {
	t.Helper()
	deployment, err := shared.cluster.Kube.AppsV1().Deployments(systemSpace).Get(t.Context(), controllerName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if image := deployment.Spec.Template.Spec.Containers[0].Image; image != repository+":"+version {
		t.Errorf("the Deployment has the image %s, want the version %s", image, version)
	}
	if ready := deployment.Status.ReadyReplicas; ready != 2 {
		t.Errorf("helm --wait has not waited: %d replicas are ready, want 2", ready)
	}
	const crd = "crd/podmanagers.apps.mycompany.com"
	if names := kubectl(t, "", "get", crd, "-o", "jsonpath={.spec.names.shortNames}"); names != `["`+shortName+`"]` {
		t.Errorf("the CRD has the short names %s, want %s", names, shortName)
	}
	// The API server accepts the names of the CRD shortly after it has stored them.
	harness.Await(t, "the short name to be accepted", func() (any, bool) {
		names := kubectl(t, "", "get", crd, "-o", "jsonpath={.status.acceptedNames.shortNames}")
		return names, names == `["`+shortName+`"]`
	})
}

func untouched(t *testing.T, namespace, before, by string) {
	t.Helper()
	if after := versions(t, namespace, "web"); after != before {
		t.Errorf("%s has touched the PodManager or its pods: before\n%s\nafter\n%s", by, before, after)
	}
}

// gone checks that everything that belongs to the controller was deleted with the release.
func gone(t *testing.T) {
	t.Helper()
	kube := shared.cluster.Kube
	for what, get := range map[string]func() (any, error){
		"the Deployment": func() (any, error) {
			return kube.AppsV1().Deployments(systemSpace).Get(t.Context(), controllerName, metav1.GetOptions{})
		},
		"the ServiceAccount": func() (any, error) {
			return kube.CoreV1().ServiceAccounts(systemSpace).Get(t.Context(), controllerName, metav1.GetOptions{})
		},
		"the ClusterRole": func() (any, error) {
			return kube.RbacV1().ClusterRoles().Get(t.Context(), controllerName, metav1.GetOptions{})
		},
		"the ClusterRoleBinding": func() (any, error) {
			return kube.RbacV1().ClusterRoleBindings().Get(t.Context(), controllerName, metav1.GetOptions{})
		},
		"the ValidatingAdmissionPolicy": func() (any, error) {
			return kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(t.Context(), "podmanager-crd-deletion", metav1.GetOptions{})
		},
	} {
		if _, err := get(); !apierrors.IsNotFound(err) {
			t.Errorf("%s must not be found after helm uninstall: %v", what, err)
		}
	}
}
