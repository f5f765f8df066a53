//go:build e2e

package core

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// validated makes the API server call the webhook for the PodManagers of the test's namespace, with the controller's permissions.
func (s *space) validated() *lab.Webhook {
	s.T.Helper()
	return s.validatedBy(s.Cluster.OurKubeconfig)
}

func (s *space) validatedBy(kubeconfig string) *lab.Webhook {
	s.T.Helper()
	s.Await("the namespace's ServiceAccount, without which no pod is admitted", func() (any, bool) {
		_, err := shared.kube.CoreV1().ServiceAccounts(s.Name).Get(s.Ctx, "default", metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			s.T.Fatal(err)
		}
		return err, err == nil
	})
	webhook, err := s.Cluster.Validate(s.Ctx, s.Name, kubeconfig, s.Name)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = webhook.Remove() })
	return webhook
}

// unserved returns the manifest of a PodManager that no controller serves.
func unserved(name, spec string) string {
	return harness.Manifest(name, "labels: {"+privateLabel+": ''}", spec)
}

// expect applies a PodManager that no controller serves, and expects kubectl to print exactly this.
func (s *space) expect(t *testing.T, want, name, spec string, flags ...string) {
	t.Helper()
	out, err := s.TryKubectl(unserved(name, spec), append([]string{"apply", "-f", "-"}, flags...)...)
	out = strings.ReplaceAll(out, `Invalid value: "object": `, "Invalid value: ") // Kubernetes 1.34 names the type, too
	if wantsError := !strings.Contains(want, "podmanager.apps.mycompany.com/"); out != want || (err != nil) != wantsError {
		t.Errorf("kubectl apply prints\n%s\nwant\n%s\nerror: %v", out, want, err)
	}
}

// podWith returns a spec whose template has these pod fields, and one container with these container fields.
func podWith(pod, container string) string {
	return "{template: {spec: {" + pod + " containers: [{name: a, image: nginx, " + container + "}]}}}"
}

// A spec that the CRD refuses never reaches the webhook.
func TestWebhookIsNotAskedAboutTheSchema(t *testing.T) {
	s := newSpace(t)
	webhook := s.validated()
	calls := webhook.Calls.Load()
	long := strings.Repeat("a", 53)
	s.expect(t, `The PodManager "`+long+`" is invalid: <nil>: Invalid value: metadata.name may have at most 52 characters, because pod names are made from it; choose a shorter one`+"\n",
		long, "{image: nginx}")
	s.expect(t, `The PodManager "web" is invalid: spec.template.spec.containers[1]: Duplicate value: {"name":"a"}`+"\n",
		"web", "{template: {spec: {containers: [{name: a, image: a}, {name: a, image: a}]}}}")
	if asked := webhook.Calls.Load() - calls; asked > 0 {
		t.Errorf("the webhook was called %d times", asked)
	}
	s.expect(t, "podmanager.apps.mycompany.com/"+long[:52]+" created\n", long[:52], "{image: nginx}")
}

// A refused change leaves the PodManager as it was. If the webhook is down, the API server admits the change.
func TestWebhookRefusesChanges(t *testing.T) {
	s := newSpace(t)
	webhook := s.validated()
	bad := podWith("", "ports: [{containerPort: 70000}]")
	s.expect(t, "podmanager.apps.mycompany.com/web created\n", "web", podWith("", ""))
	s.expect(t, `The PodManager "web" is invalid: spec.template.spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive`+"\n", "web", bad)
	if manager := s.Manager("web"); manager.Generation != 1 || len(manager.Spec.Template.Spec.Containers[0].Ports) > 0 {
		t.Errorf("the PodManager has changed: %+v", manager.Spec.Template)
	}
	webhook.Stop()
	s.expect(t, "podmanager.apps.mycompany.com/web configured\n", "web", bad)
	s.expect(t, "podmanager.apps.mycompany.com/new created\n", "new", bad)
}

// A change that does not affect the pods causes no trial, which is a dry run of creating a pod. Such changes are a scale, as an autoscaler does it,
// a change of status or metadata, and a deletion.
func TestWebhookTriesOnlyChangedPods(t *testing.T) {
	s := newSpace(t)
	webhook := s.validated()
	s.expect(t, "podmanager.apps.mycompany.com/web created\n", "web", podWith("", ""))
	steps := []struct {
		what          string
		arguments     []string
		trials, calls int64
	}{
		{"another image", []string{"patch", "pm", "web", "--type=json", "-p", `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:2"}]`}, 1, 1},
		{"a restart", []string{"patch", "pm", "web", "--type=merge", "-p", `{"spec":{"restartAt":"2026-11-15T12:00:00Z"}}`}, 1, 1},
		{"a dry run", []string{"patch", "pm", "web", "--type=merge", "--dry-run=server", "-p", `{"spec":{"restartAt":"2026-11-16T12:00:00Z"}}`}, 1, 1},
		{"replicas", []string{"patch", "pm", "web", "--type=merge", "-p", `{"spec":{"replicas":7}}`}, 0, 1},
		{"an annotation", []string{"annotate", "pm", "web", "a=b"}, 0, 1},
		{"a finalizer", []string{"patch", "pm", "web", "--type=merge", "-p", `{"metadata":{"finalizers":["e2e.mycompany.com/wait"]}}`}, 0, 1},
		{"a scale", []string{"scale", "pm", "web", "--replicas=5"}, 0, 0},
		{"a status", []string{"patch", "pm", "web", "--subresource=status", "--type=merge", "-p", `{"status":{"replicas":3}}`}, 0, 0},
		{"a deletion", []string{"delete", "pm", "web", "--wait=false"}, 0, 0},
		{"the last finalizer", []string{"patch", "pm", "web", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`}, 0, 1},
	}
	for _, step := range steps {
		s.awaitCached("web")
		trials, calls := webhook.Trials.Load(), webhook.Calls.Load()
		s.Kubectl(step.arguments...)
		if gotTrials, gotCalls := webhook.Trials.Load()-trials, webhook.Calls.Load()-calls; gotTrials != step.trials || gotCalls != step.calls {
			t.Errorf("%s: %d trials and %d calls, want %d and %d", step.what, gotTrials, gotCalls, step.trials, step.calls)
		}
	}
}

// awaitCached waits until the API server's cache has the newest version of a PodManager. The API server retries an update that begins with an older
// version, and then calls its webhooks twice.
func (s *space) awaitCached(name string) {
	s.T.Helper()
	client := shared.managers.AppsV1().PodManagers(s.Name)
	s.Await("the API server's cache to be up to date", func() (any, bool) {
		newest, err := client.Get(s.Ctx, name, metav1.GetOptions{})
		if err != nil {
			s.T.Fatal(err)
		}
		cached, err := client.Get(s.Ctx, name, metav1.GetOptions{ResourceVersion: "0"})
		return err, err == nil && cached.ResourceVersion == newest.ResourceVersion
	})
}

// A controller that has lost its permissions does not keep users from applying.
func TestWebhookWithoutRights(t *testing.T) {
	s := newSpace(t)
	token := strings.TrimSpace(s.Kubectl("create", "token", s.ownAccount()))
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"a","clusters":[{"name":"a","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],`+
		`"contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],"users":[{"name":"a","user":{"token":%q}}]}`, s.Cluster.Config.Host, token)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.validatedBy(file)
	s.expect(t, fmt.Sprintf("Warning: the API server would refuse the PodManager's pods now: "+`pods is forbidden: User "system:serviceaccount:%s:nobody" cannot create resource "pods" in API group "" in the namespace %q`, s.Name, s.Name)+
		"\npodmanager.apps.mycompany.com/web created\n", "web", podWith("", "ports: [{containerPort: 70000}]"))
}

// ownAccount creates a ServiceAccount without permissions.
func (s *space) ownAccount() string {
	s.T.Helper()
	s.Kubectl("create", "serviceaccount", "nobody")
	return "nobody"
}
