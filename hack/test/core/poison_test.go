//go:build e2e

package core

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// poisons are objects that the controller cannot decode, or only at a cost to other PodManagers. why is part of the reported reason.
var poisons = []struct{ name, spec, why string }{
	{"no-number", `{"replicas":"three","image":"nginx"}`, "spec.replicas"},
	{"no-port", podJSON(`"containers":[{"name":"a","image":"nginx","ports":[{"containerPort":3000000000}]}]`), "containerPort"},
	{"long-number", podJSON(`"containers":[{"name":"a","image":"nginx","resources":{"limits":{"cpu":"1e-999999999"}}}]`), "limits.cpu: a quantity whose exponent"},
	{"many-1", tolerations, "too much memory"},
	{"many-2", tolerations, "too much memory"},
	{"many-3", tolerations, "too much memory"},
}

// tolerations is 1.2 MB of JSON, and 36 MB when decoded.
var tolerations = podJSON(`"containers":[{"name":"a","image":"nginx"}],"tolerations":[` + strings.Repeat("{},", 400_000) + "{}]")

func podJSON(fields string) string { return `{"replicas":1,"template":{"spec":{` + fields + "}}}" }

// Objects that do not fit the Go type, or that are too expensive to decode, stop neither a running controller nor a starting one. Such objects can
// exist because a CRD of another version has admitted them. Their status says why they cannot be decoded, and users can still scale and delete them.
func TestSeparateUndecodableObjects(t *testing.T) {
	t.Parallel()
	s := newClusterSpace(t, "poison") // other tests need the CRD as it is
	ours := []string{"-kubeconfig", s.Cluster.Kubeconfig}
	first := s.private(ours...)
	s.applyPrivate("good", "{replicas: 2, image: nginx}")
	s.awaitReady("good", 2)

	s.loosenCRD()
	for _, bad := range poisons {
		object := fmt.Sprintf(`{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":%q,"labels":{%q:""}},"spec":%s}`, bad.name, privateLabel, bad.spec)
		s.Await("the loose schema to let "+bad.name+" in", func() (any, bool) {
			err := s.Cluster.Managers.AppsV1().RESTClient().Post().Namespace(s.Name).Resource("podmanagers").Body([]byte(object)).Do(s.Ctx).Error()
			return err, err == nil
		})
	}
	s.restoreCRD()
	for _, bad := range poisons {
		s.Await(bad.name+" to report why it cannot be decoded", func() (any, bool) {
			out := s.Kubectl("get", "pm", bad.name, "-o", `jsonpath={.status.conditions[?(@.type=="Stalled")]}`)
			return out, strings.Contains(out, v1.ReasonUndecodable) && strings.Contains(out, bad.why)
		})
	}
	s.applyPrivate("good", "{replicas: 3, image: nginx}")
	s.awaitReady("good", 3)
	mustLive(t, first)

	kill(t, first)
	second := s.private(ours...)
	s.applyPrivate("good", "{replicas: 1, image: nginx}")
	s.awaitReady("good", 1)
	mustLive(t, second)
	for _, bad := range poisons {
		if bad.name != "no-number" { // its replicas is a string, so the scale subresource cannot read it
			s.Kubectl("scale", "pm/"+bad.name, "--replicas=2")
		}
		s.Kubectl("delete", "pm", bad.name, "--timeout=3m")
	}
}

// quarterOfMemory is a quarter of the controller's memory limit in the Deployment, in bytes.
const quarterOfMemory = 128 << 20

// mustLive fails the test if a controller has panicked, or has used more memory than it should need.
func mustLive(t *testing.T, p *lab.Process) {
	t.Helper()
	if n := metric(t, p, "podmanager_panics_total", ""); n != 0 {
		t.Errorf("%v panics", n)
	}
	harness.WantMemory(t, p, quarterOfMemory)
}

// loosenCRD makes the CRD accept any value as the number of replicas, and any pod spec.
func (s *space) loosenCRD() {
	s.T.Helper()
	var crd map[string]any
	if err := json.Unmarshal([]byte(s.Kubectl("get", "crd", "podmanagers.apps.mycompany.com", "-o", "json")), &crd); err != nil {
		s.T.Fatal(err)
	}
	version := crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	schema := version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	spec := schema["properties"].(map[string]any)["spec"].(map[string]any)["properties"].(map[string]any)
	spec["replicas"] = map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	template := spec["template"].(map[string]any)["properties"].(map[string]any)
	template["spec"] = map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	delete(version["subresources"].(map[string]any), "scale") // it would require a number
	data, err := json.Marshal(crd)
	if err != nil {
		s.T.Fatal(err)
	}
	if out, err := s.TryKubectl(string(data), "replace", "-f", "-"); err != nil {
		s.T.Fatalf("%v: %s", err, out)
	}
}

// restoreCRD restores the real CRD, and waits until it is in force.
func (s *space) restoreCRD() {
	s.T.Helper()
	data, err := os.ReadFile("artifacts/crd.yaml")
	if err != nil {
		s.T.Fatal(err)
	}
	if out, err := s.TryKubectl(string(data), "replace", "-f", "-"); err != nil {
		s.T.Fatalf("%v: %s", err, out)
	}
	s.Await("the real schema to be in force", func() (any, bool) {
		out, err := s.TryKubectl(harness.Manifest("bad", "", "{replicas: three, image: nginx}"), "apply", "--dry-run=server", "-f", "-")
		return out, err != nil
	})
}
