//go:build e2e

package core

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	crdObject = "crd/podmanagers.apps.mycompany.com"
	crdPath   = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	otherCRD  = "hack/test/chart/testdata/operator-crds.yaml"
	crdNotice = `ValidatingAdmissionPolicy 'podmanager-crd-deletion' with binding 'podmanager-crd-deletion' denied request: ` +
		`with this CRD all PodManagers and their pods would be deleted. If that is what you want, run: ` +
		`kubectl annotate crd podmanagers.apps.mycompany.com apps.mycompany.com/allow-deletion=true`
)

// What changes or deletes the CRD would disturb all other tests, and has a cluster of its own.
func TestPoliciesOnOwnCluster(t *testing.T) {
	t.Parallel()
	s := newClusterSpace(t, "policies")
	s.kubectl("apply", "-f", "artifacts/policy.yaml")
	s.grant("jane", "create", "podmanagers")
	s.awaitPodRights("jane")
	s.apply("web", "{image: nginx}")
	s.apply("db", "{image: nginx}")
	s.knowsOtherVersions()
	s.keepsCRD()
	s.uninstalls()
}

// knowsOtherVersions checks that the policy holds in each version of the API.
func (s *space) knowsOtherVersions() {
	s.t.Helper()
	var crd map[string]any
	if err := json.Unmarshal([]byte(s.kubectl("get", crdObject, "-o", "json")), &crd); err != nil {
		s.t.Fatal(err)
	}
	spec := crd["spec"].(map[string]any)
	versions := spec["versions"].([]any)
	second := maps.Clone(versions[0].(map[string]any))
	second["name"], second["storage"] = "v1beta1", false
	spec["versions"] = append(versions, second)
	data, err := json.Marshal(crd)
	if err != nil {
		s.t.Fatal(err)
	}
	if out, err := s.try(string(data), "replace", "-f", "-"); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	create := request{"create", strings.Replace(manifest("new", "", "{image: a}"), "mycompany.com/v1\n", "mycompany.com/v1beta1\n", 1), "create -f -"}
	s.await("the other version to be served", func() (any, bool) {
		out, err := s.as("jane", create)
		if err == nil {
			s.t.Fatalf("the policy does not see requests in another version:\n%s", out)
		}
		return out, strings.HasSuffix(strings.TrimSpace(out), refusal("jane", s.name))
	})
}

// keepsCRD checks that the CRD is not deleted without the annotation, however it is tried, and that other CRDs are not held up.
func (s *space) keepsCRD() {
	s.t.Helper()
	for _, value := range []string{"", "no"} {
		s.kubectl("annotate", crdObject, "apps.mycompany.com/allow-deletion="+value, "--overwrite")
		out, err := s.try("", "delete", "-f", "artifacts/crd.yaml", "--timeout=3m")
		want := `Error from server (Forbidden): error when deleting "artifacts/crd.yaml": customresourcedefinitions.apiextensions.k8s.io ` +
			`"podmanagers.apps.mycompany.com" is forbidden: ` + crdNotice
		if err == nil || !strings.HasSuffix(strings.TrimSpace(out), want) {
			s.t.Errorf("the annotation is %q: %v\nwant\n%s", value, err, want)
		}
	}
	// A collection has no name that a policy could look for.
	s.kubectl("apply", "-f", otherCRD)
	all := s.cluster.Kube.Discovery().RESTClient().Delete().AbsPath(crdPath).Do(s.ctx)
	if err := all.Error(); !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), crdNotice) {
		s.t.Errorf("deleting all CRDs: %v", err)
	}
	s.kubectl("delete", "-f", otherCRD, "--ignore-not-found", "--timeout=3m") // it may have gone with that
	if got := strings.Fields(s.kubectl("get", "pm", "-o", "name")); len(got) != 2 {
		s.t.Errorf("PodManagers %v are left, want 2", got)
	}
}

// uninstalls checks that make uninstall tells what it deletes, and deletes it.
func (s *space) uninstalls() {
	s.t.Helper()
	const deleting = "Deleting the CRD podmanagers.apps.mycompany.com, and with it all PodManagers (2) and their pods"
	if out := s.makeUninstall(); !strings.HasPrefix(out, deleting+"\n") {
		s.t.Errorf("make uninstall says\n%s\nwant\n%s", out, deleting)
	}
	if got := s.kubectl("get", "crd", "-o", "name"); strings.Contains(got, "podmanagers") {
		s.t.Errorf("the CRDs %s are left", got)
	}
	if out := s.makeUninstall(); out != "There is no CRD podmanagers.apps.mycompany.com\n" {
		s.t.Errorf("make uninstall, again, says\n%s", out)
	}
}

func (s *space) makeUninstall() string {
	s.t.Helper()
	command := exec.CommandContext(s.ctx, "make", "uninstall")
	// Nothing of what the make that runs the tests was told.
	command.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "KUBECONFIG="+s.cluster.Kubeconfig)
	out, err := command.CombinedOutput()
	if err != nil {
		s.t.Fatalf("make uninstall: %v\n%s", err, out)
	}
	return string(out)
}
