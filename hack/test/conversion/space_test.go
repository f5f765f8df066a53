//go:build e2e

package conversion

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/pkg/apis/podmanager/v1alpha1"
)

// hubName and alphaName are the names that kubectl accepts for PodManagers of one version.
const hubName, alphaName = "podmanagers.v1.apps.mycompany.com", "podmanagers.v1alpha1.apps.mycompany.com"

// space is a test's namespace.
type space struct {
	*harness.Space
}

func newSpace(t *testing.T) *space {
	t.Helper()
	return &space{harness.NewSpace(t, shared.cluster)}
}

// kubectl runs kubectl, which must succeed, and returns its output including warnings.
func kubectl(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := shared.cluster.Kubectl(t.Context(), arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func apply(t *testing.T, manifest string, arguments ...string) string {
	t.Helper()
	out, err := shared.cluster.KubectlWith(t.Context(), manifest, append([]string{"apply", "-f", "-"}, arguments...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// with runs kubectl with a manifest on its standard input.
func (s *space) with(manifest string, arguments ...string) string {
	s.T.Helper()
	out, err := s.TryKubectl(manifest, append(arguments, "-f", "-")...)
	if err != nil {
		s.T.Fatal(err)
	}
	return out
}

// refused runs kubectl, which must fail with this message.
func (s *space) refused(words string, arguments ...string) {
	s.T.Helper()
	out, err := s.TryKubectl("", arguments...)
	if err == nil || !strings.Contains(out, words) {
		s.T.Errorf("kubectl %s: %v, printed\n%s\nwant an error with: %s", strings.Join(arguments, " "), err, out, words)
	}
}

// manifestOf returns a PodManager in a version. The spec is in YAML flow style.
func manifestOf(version, name, spec string) string {
	return fmt.Sprintf("apiVersion: apps.mycompany.com/%s\nkind: PodManager\nmetadata: {name: %s}\nspec: %s\n", version, name, spec)
}

func (s *space) alpha(name string) *v1alpha1.PodManager {
	s.T.Helper()
	manager, err := shared.cluster.Managers.AppsV1alpha1().PodManagers(s.Name).Get(s.T.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	return manager
}

// awaitReady waits until the controller has carried out the spec with this number of pods.
func (s *space) awaitReady(name string, pods int32) {
	s.T.Helper()
	s.Await(fmt.Sprintf("%s to have %d pods", name, pods), func() (any, bool) {
		manager := s.Manager(name)
		return manager.Status, manager.Status.ObservedGeneration == manager.Generation && manager.Status.AvailableReplicas == pods &&
			manager.Status.UpdatedReplicas == pods && manager.Status.Replicas == pods
	})
}

// plugin runs kubectl pm.
func plugin(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), shared.plugin, append(arguments, "--kubeconfig", shared.cluster.Kubeconfig)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl pm %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

func wants(t *testing.T, what, got string, words ...string) {
	t.Helper()
	for _, want := range words {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("%s: %q is missing in\n%s", what, want, got)
		}
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	gotText, _ := json.MarshalIndent(got, "", " ")
	wantText, _ := json.MarshalIndent(want, "", " ")
	t.Errorf("%s: got\n%s\nwant\n%s", what, gotText, wantText)
}
