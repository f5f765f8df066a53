//go:build e2e

package chart

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

const webhookName = "podmanager-webhook"

// The webhooks run in a Deployment of their own with their own permissions, and answer the API server. The controller runs beside them, and serves
// no webhooks.
func TestWebhookDeployment(t *testing.T) {
	namespace := newNamespace(t)
	installApart(t)
	controller := runDeployed(t, systemSpace)
	webhooks := runWebhooks(t)
	apply(t, namespace, "web", "replicas: 2, image: nginx")
	awaitReady(t, namespace, "web", 2)

	harness.Await(t, "a broken template to be refused", func() (any, bool) {
		const broken = "apiVersion: apps.mycompany.com/v1\nkind: PodManager\nmetadata: {name: broken}\nspec: {image: ' nginx'}\n"
		out, err := shared.cluster.KubectlWith(t.Context(), broken, "apply", "--namespace", namespace, "--dry-run=server", "-f", "-")
		return out, err != nil && strings.Contains(out, "spec.image: Invalid value")
	})
	harness.Await(t, "v1alpha1 to be converted", func() (any, bool) {
		out, err := shared.cluster.Kubectl(t.Context(), "get", "podmanagers.v1alpha1.apps.mycompany.com", "web", "--namespace", namespace, "-o", "jsonpath={.spec.size}")
		return out, err == nil && strings.HasSuffix(out, "2") // after the deprecation warning
	})
	const serving = `"Serving" what="webhooks"`
	if lines := logged(t, controller, serving); len(lines) > 0 {
		t.Errorf("the controller serves webhooks, too: %q", lines)
	}
	if lines := logged(t, webhooks, serving, "Started leading", "Created pod"); len(lines) != 1 {
		t.Errorf("the process of the webhooks does more than serve them: %q", lines)
	}
	testApartRights(t, namespace)
	stop(t, webhooks)
	stop(t, controller)
}

// installApart installs a release with both Deployments, until the test is over.
func installApart(t *testing.T) {
	t.Helper()
	inSystem := []string{"--namespace", systemSpace, "--wait", "--timeout", "3m"}
	uninstall := append([]string{"uninstall", "podmanager", "--ignore-not-found"}, inSystem...)
	helm(t, uninstall...) // an interrupted run may have left the release
	t.Cleanup(func() {
		ctx := context.Background()
		if out, err := exec.CommandContext(ctx, shared.helm, uninstall...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		kubectlQuietly("delete", "secret", webhookName, "--namespace", systemSpace)
		// kubectl apply would keep spec.conversion of the CRD, which refers to a webhook that is gone.
		if _, err := shared.cluster.Kubectl(ctx, "replace", "-f", "artifacts/crd.yaml"); err != nil {
			t.Error(err)
		}
		if err := shared.cluster.InstallCRD(ctx); err != nil {
			t.Error(err)
		}
	})
	helm(t, append([]string{"install", "podmanager", shared.chart, withImage, "--take-ownership", "--force-conflicts",
		"--set", "webhook.enabled=true,webhook.deployment.enabled=true"}, inSystem...)...)
}

// runWebhooks starts the webhooks as their Deployment would, and makes the API server call them on this machine, which a Service cannot reach.
func runWebhooks(t *testing.T) *lab.Process {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	process := runDeployment(t, systemSpace, webhookName, "-webhook-namespace", systemSpace, "-webhook-host", "127.0.0.1", "-webhook-bind-address", address)
	for object, at := range map[string][2]string{
		"validatingwebhookconfiguration/podmanager": {"/webhooks/0/clientConfig", "/validate"},
		"crd/podmanagers.apps.mycompany.com":        {"/spec/conversion/webhook/clientConfig", "/convert"},
	} {
		kubectl(t, "", "patch", object, "--type", "json", "-p",
			fmt.Sprintf(`[{"op": "replace", "path": %q, "value": {"url": "https://%s%s"}}]`, at[0], address, at[1]))
	}
	return process
}

// testApartRights checks that each Deployment has the permissions that it needs, and not those of the other.
func testApartRights(t *testing.T, namespace string) {
	t.Helper()
	const account = "system:serviceaccount:" + systemSpace + ":"
	for question, want := range map[string]string{
		controllerName + " get secret/" + webhookName:                                                        "no",
		controllerName + " patch validatingwebhookconfigurations/podmanager":                                 "no",
		controllerName + " delete pods":                                                                      "yes",
		webhookName + " get secret/" + webhookName:                                                           "yes",
		webhookName + " get secret/other":                                                                    "no",
		webhookName + " patch validatingwebhookconfigurations/podmanager":                                    "yes",
		webhookName + " patch customresourcedefinitions.apiextensions.k8s.io/podmanagers.apps.mycompany.com": "yes",
		webhookName + " create pods":                                                                         "yes",
		webhookName + " delete pods":                                                                         "no",
		webhookName + " list pods":                                                                           "no",
		webhookName + " list podmanagers.apps.mycompany.com":                                                 "no",
		webhookName + " update leases.coordination.k8s.io/podmanager-controller":                             "no",
	} {
		words := strings.Fields(question)
		// can-i fails if the answer is no.
		out, _ := shared.cluster.Kubectl(t.Context(), "auth", "can-i", words[1], words[2], "--as", account+words[0], "--namespace", systemSpace)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if lines[len(lines)-1] != want {
			t.Errorf("may %s: %s, want %s", question, out, want)
		}
	}
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: tried}\nspec: {containers: [{name: a, image: a}]}\n"
	try := func(flags ...string) (string, error) {
		return shared.cluster.KubectlWith(t.Context(), pod, append([]string{"create", "--namespace", namespace, "--as", account + webhookName, "-f", "-"}, flags...)...)
	}
	if out, err := try("--dry-run=server"); err != nil {
		t.Errorf("the webhooks may not try a pod: %v\n%s", err, out)
	}
	if out, err := try(); err == nil || !strings.Contains(out, "only in a dry run") {
		t.Errorf("the webhooks may create a pod: %v\n%s", err, out)
	}
}
