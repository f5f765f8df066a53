//go:build e2e

package core

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// An object that does not fit the Go type, as a CRD of another version may allow, stops neither a running controller nor a starting one.
// Its status tells about it, and the object can be deleted.
func TestUndecodableObject(t *testing.T) {
	s := newSerialSpace(t) // all tests share the CRD
	first := s.private()
	s.applyPrivate("good", "{replicas: 2, image: nginx}")
	s.awaitReady("good", 2)

	s.loosenCRD()
	t.Cleanup(s.restoreCRD)
	s.Await("the loose schema to let it in", func() (any, bool) {
		out, err := s.TryKubectl(harness.Manifest("bad", "labels: {"+privateLabel+": ''}", "{replicas: three, image: nginx}"), "apply", "-f", "-")
		return out, err == nil
	})
	s.Await("the object to tell", func() (any, bool) {
		out := s.Kubectl("get", "pm", "bad", "-o", `jsonpath={.status.conditions[?(@.type=="Stalled")]}`)
		return out, strings.Contains(out, v1.ReasonUndecodable) && strings.Contains(out, "spec.replicas")
	})
	s.applyPrivate("good", "{replicas: 3, image: nginx}")
	s.awaitReady("good", 3)

	kill(t, first)
	second := s.private()
	s.applyPrivate("good", "{replicas: 1, image: nginx}")
	s.awaitReady("good", 1)
	if n := metric(t, second, "podmanager_panics_total", ""); n != 0 {
		t.Errorf("%v panics", n)
	}
	s.Kubectl("delete", "pm", "bad", "--timeout=3m")
}

// loosenCRD makes the CRD accept any value as the number of replicas.
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
	delete(version["subresources"].(map[string]any), "scale") // it would insist on a number
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
	s.Ctx = context.Background() // the test's context is done by now
	if out, err := s.TryKubectl(string(data), "replace", "-f", "-"); err != nil {
		s.T.Errorf("%v: %s", err, out)
	}
	s.Await("the real schema to be in force", func() (any, bool) {
		out, err := s.TryKubectl(harness.Manifest("bad", "", "{replicas: three, image: nginx}"), "apply", "--dry-run=server", "-f", "-")
		return out, err != nil
	})
}
