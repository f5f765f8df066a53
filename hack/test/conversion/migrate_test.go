//go:build e2e

package conversion

import (
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func storedVersions(t *testing.T) string {
	t.Helper()
	return kubectl(t, "get", "crd", "podmanagers.apps.mycompany.com", "-o", "jsonpath={.status.storedVersions}")
}

// kubectl pm migrate rewrites the objects that are stored in v1alpha1, so that they are stored in v1. Only after that can v1alpha1 be removed from
// the CRD. The webhook is then no longer needed.
func TestMigrate(t *testing.T) {
	serveAlpha(t)
	harness.Await(t, "the PodManagers of other tests to be gone with their namespaces", func() (any, bool) {
		others := kubectl(t, "get", "podmanagers.v1.apps.mycompany.com", "-A", "-o", "name")
		return others, others == ""
	})
	s := newSpace(t)
	s.made("stored-as-v1")
	shared.hook.install(t, true) // v1alpha1 is the storage version here
	harness.Await(t, "v1alpha1 to be stored", func() (any, bool) {
		stored := storedVersions(t)
		return stored, stored == `["v1","v1alpha1"]`
	})
	before := s.made("stored-as-v1alpha1")
	s.with(manifestOf("v1alpha1", "short", "{size: 0, image: 'app:1'}"), "create")
	serveAlpha(t) // back to v1
	s.settled("short")

	root := "artifacts/crd.yaml"
	if out, err := shared.cluster.Kubectl(t.Context(), "apply", "-f", root); err == nil || !strings.Contains(out, "status.storedVersions[1]") {
		t.Fatalf("v1alpha1 was dropped although objects are stored in this version: %v\n%s", err, out)
	}
	wants(t, "dry run", plugin(t, "migrate", "--dry-run=server"), "PodManagers that would be rewritten as v1 unless they are in this version already: 3 (server dry run)",
		"status.storedVersions of the CRD would be v1, is v1, v1alpha1 (server dry run)")
	if stored := storedVersions(t); stored != `["v1","v1alpha1"]` {
		t.Errorf("the dry run has written %s", stored)
	}
	out := plugin(t, "migrate")
	t.Log(out)
	wants(t, "migrate", out, "PodManagers checked: 3; ", "status.storedVersions of the CRD is v1, was v1, v1alpha1")
	if stored := storedVersions(t); stored != `["v1"]` {
		t.Errorf("storedVersions is %s", stored)
	}
	wants(t, "again", plugin(t, "migrate"), "All PodManagers are stored as v1 already: there is nothing to do")

	kubectl(t, "apply", "-f", root)
	shared.hook.installed = ""
	if err := shared.hook.stop(); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, "v1alpha1 to be gone", func() (any, bool) {
		out, err := shared.cluster.Kubectl(t.Context(), "get", alphaName, "-A")
		return out, err != nil && !strings.Contains(out, "webhook")
	})
	same(t, "spec", s.Manager("stored-as-v1alpha1").Spec, before.Spec)
	if short := s.Manager("short").Spec; short.Image != "app:1" || *short.Replicas != 0 || short.FailurePolicy.OnFailure != v1.HaltOnFailure {
		t.Errorf("the PodManager short is %+v", short) // objects stored as v1 get the defaults of v1
	}
	s.Kubectl("patch", "pm", "short", "--type=merge", "-p", `{"spec":{"image":"app:2"}}`)
	s.settled("short")
}
