//go:build e2e

package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// withoutWebhooks removes what the component artifacts/webhook has added, except for the version v1alpha1 of the CRD.
var withoutWebhooks = []string{"bash", "-c", "kubectl delete --ignore-not-found -f artifacts/webhook/configuration.yaml -f artifacts/webhook/service.yaml " +
	"-f artifacts/webhook/rbac.yaml && kubectl delete --ignore-not-found --namespace " + systemSpace + " secret podmanager-webhook"}

// applyWithWebhooks is apply with the component artifacts/webhook, in a kustomization as a user would write it.
func (d *deployment) applyWithWebhooks(image image) {
	d.T.Helper()
	folder := d.T.TempDir()
	artifacts, err := filepath.Abs("artifacts")
	if err == nil {
		artifacts, err = filepath.Rel(folder, artifacts)
	}
	if err != nil {
		d.T.Fatal(err)
	}
	tag := strings.LastIndex(image.ref, ":")
	text := fmt.Sprintf("kind: Kustomization\nresources: [%[1]s]\ncomponents: [%[1]s/webhook]\nimages: [{name: mycompany/podmanager, newName: %[2]q, newTag: %[3]q}]\n",
		artifacts, image.ref[:tag], image.ref[tag+1:])
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		d.T.Fatal(err)
	}
	if out, err := exec.CommandContext(d.T.Context(), "kubectl", "apply", "-k", folder).CombinedOutput(); err != nil {
		d.T.Fatalf("kubectl apply -k: %v\n%s", err, out)
	}
}

// isAsked checks that API servers reach the webhooks through their Service, even when a replica dies. It also checks what users see of the webhooks.
func (d *deployment) isAsked() {
	d.T.Helper()
	s := newSpaceAlone(d.T)
	s.awaitAccount()
	refused := s.refuses("the API server to know the CA and to ask")
	s.warns()
	s.convertsBothWays()

	replica := d.mostAsked()
	d.kill(&replica)
	began := time.Now()
	const applies = 10
	for i := range applies {
		// Server-side: otherwise kubectl would first read the schemas, which the API server rebuilds after a change of the CRD.
		none := fmt.Sprintf("apiVersion: apps.mycompany.com/v1\nkind: PodManager\nmetadata: {name: none}\nspec: {replicas: 0, image: 'local/web:%d'}\n", i)
		if out, err := s.kubectl(none, "apply", "--server-side", "-f", "-"); err != nil {
			s.T.Errorf("apply %d after the kill: %v\n%s", i, err, out)
		}
	}
	d.T.Logf("%s is killed; %d applies after that took %v", replica.Name, applies, time.Since(began))
	again := s.refuses("the other replica to be asked")
	s.Await("v1alpha1 to be served by the other replica", func() (any, bool) {
		out, err := s.kubectl("", "get", alpha, "web")
		return out, err == nil
	})
	d.T.Logf("refused %v after the update of the Deployment, and again %v after the last apply", refused, again)
}

// awaitAccount waits for the namespace's ServiceAccount, without which no pod is admitted.
func (s *space) awaitAccount() {
	s.T.Helper()
	s.Await("the ServiceAccount default", func() (any, bool) {
		_, err := shared.kube.CoreV1().ServiceAccounts(s.Name).Get(s.T.Context(), "default", metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			s.T.Fatal(err)
		}
		return err, err == nil
	})
}

// kubectl runs kubectl, and returns its output.
func (s *space) kubectl(input string, arguments ...string) (string, error) {
	command := exec.CommandContext(s.T.Context(), "kubectl", append([]string{"--namespace", s.Name}, arguments...)...)
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	return string(out), err
}

const alpha = "podmanagers.v1alpha1.apps.mycompany.com"

// manifest returns a PodManager named web in a version of the API.
func manifest(version, spec string) string {
	return fmt.Sprintf("apiVersion: apps.mycompany.com/%s\nkind: PodManager\nmetadata: {name: web}\nspec: %s\n", version, spec)
}

// refuses waits until an invalid template is refused, with the API server's message and the path in the spec.
func (s *space) refuses(what string) time.Duration {
	s.T.Helper()
	bad := manifest("v1", "{template: {spec: {containers: [{name: a, image: a, ports: [{containerPort: 70000}]}]}}}")
	const want = `The PodManager "web" is invalid: spec.template.spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive` + "\n"
	began := time.Now()
	s.Await(what, func() (any, bool) {
		out, err := s.kubectl(bad, "apply", "--dry-run=server", "-f", "-")
		return out, err != nil && out == want
	})
	return time.Since(began)
}

// warns checks that kubectl prints the API server's warnings about the pod.
func (s *space) warns() {
	s.T.Helper()
	odd := manifest("v1", "{template: {spec: {nodeSelector: {beta.kubernetes.io/os: linux}, containers: [{name: a, image: a}]}}}")
	const want = `Warning: spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead` +
		"\npodmanager.apps.mycompany.com/web created (server dry run)\n"
	if out, err := s.kubectl(odd, "apply", "--dry-run=server", "-f", "-"); err != nil || out != want {
		s.T.Errorf("kubectl apply prints\n%s\nwant\n%s\nerror: %v", out, want, err)
	}
}

// convertsBothWays applies an object of v1alpha1. Its pods run, and both versions show them.
func (s *space) convertsBothWays() {
	s.T.Helper()
	const want = "Warning: apps.mycompany.com/v1alpha1 PodManager is deprecated; use apps.mycompany.com/v1, where spec.size is spec.replicas, " +
		"and spec.command belongs to a container of spec.template\npodmanager.apps.mycompany.com/web created\n"
	if out, err := s.kubectl(manifest("v1alpha1", "{size: 2, image: 'local/web:1', command: [/web]}"), "apply", "-f", "-"); err != nil || out != want {
		s.T.Fatalf("kubectl apply prints\n%s\nwant\n%s\nerror: %v", out, want, err)
	}
	s.awaitReady(2)
	s.answers("1")
	for _, pod := range s.pods() {
		if command := fmt.Sprint(pod.Spec.Containers[0].Command); command != "[/web]" {
			s.T.Errorf("the command of %s is %s", pod.Name, command)
		}
	}
	const both = `2 ["/web"] 2 ["web-0","web-1"]`
	for version, read := range map[string]string{
		alpha:                               `{.spec.size} {.spec.command} {.status.readyNodes} {.status.nodes}`,
		"podmanagers.v1.apps.mycompany.com": `{.spec.replicas} {.spec.template.spec.containers[0].command} {.status.readyReplicas} {.status.podNames}`,
	} {
		out, err := exec.CommandContext(s.T.Context(), "kubectl", "--namespace", s.Name, "get", version, "web", "-o", "jsonpath="+read).Output()
		if err != nil || string(out) != both {
			s.T.Errorf("%s is %s, want %s; error: %v", version, out, both, err)
		}
	}
}

// mostAsked returns the replica that has answered the most calls about PodManagers. API servers keep their connections to it.
func (d *deployment) mostAsked() (found corev1.Pod) {
	d.T.Helper()
	most := 0.0
	for _, pod := range d.everyPod() {
		body, _ := d.metrics(&pod, d.token())
		// A replica that was never called does not have this metric.
		if calls, err := valueOf(body, `podmanager_webhook_requests_total{code="200",path="/validate"}`); err == nil && calls > most {
			most, found = calls, pod
		}
	}
	if most == 0 {
		d.T.Fatal("no replica was asked")
	}
	return found
}
