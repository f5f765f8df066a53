//go:build e2e

package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/mycompany/podmanager/hack/test/harness"
)

const (
	crdObject = "crd/podmanagers.apps.mycompany.com"
	crdPath   = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	otherCRD  = "hack/test/chart/testdata/operator-crds.yaml"
	crdNotice = `ValidatingAdmissionPolicy 'podmanager-crd-deletion' with binding 'podmanager-crd-deletion' denied request: ` +
		`with this CRD all PodManagers and their pods would be deleted. If that is what you want, run: ` +
		`kubectl annotate crd podmanagers.apps.mycompany.com apps.mycompany.com/allow-deletion=true`
)

// Tests that change or delete the CRD would disturb all other tests, so they have a separate cluster.
func TestSeparatePolicies(t *testing.T) {
	t.Parallel()
	s := newClusterSpace(t, "policies")
	s.tellsOfPolicies("[!]policy: there is no ValidatingAdmissionPolicy podmanager-pod-rights, so that ", 2)
	s.Kubectl("apply", "-f", "artifacts/policy.yaml")
	s.tellsOfPolicies("[+]policy ok\n", 0)
	s.grant("jane", "create", "podmanagers")
	s.awaitPodRights("jane")
	s.apply("web", "{image: nginx}")
	s.apply("db", "{image: nginx}")
	s.knowsOtherVersions()
	s.keepsCRD()
	s.uninstalls()
}

// tellsOfPolicies starts a controller, and checks the note about policies in its /readyz, and the number of missing rules in its metric.
func (s *space) tellsOfPolicies(note string, missing float64) {
	s.T.Helper()
	p, err := startController("policies", "-kubeconfig", s.Cluster.Kubeconfig, "-selector", "nobody=has-this")
	if err != nil {
		s.T.Fatal(err)
	}
	defer func() { _ = p.Kill() }()
	s.Await("the note about policies", func() (any, bool) {
		seen, err := p.Ready()
		return fmt.Sprint(seen, err), err == nil && strings.Contains(seen, note)
	})
	if got := metric(s.T, p, "podmanager_policy_missing", ""); got != missing {
		s.T.Errorf("%v rules are missing, want %v", got, missing)
	}
}

// knowsOtherVersions checks that the policy applies to each version of the API.
func (s *space) knowsOtherVersions() {
	s.T.Helper()
	var crd map[string]any
	if err := json.Unmarshal([]byte(s.Kubectl("get", crdObject, "-o", "json")), &crd); err != nil {
		s.T.Fatal(err)
	}
	spec := crd["spec"].(map[string]any)
	versions := spec["versions"].([]any)
	second := maps.Clone(versions[0].(map[string]any))
	second["name"], second["storage"] = "v1beta1", false
	spec["versions"] = append(versions, second)
	data, err := json.Marshal(crd)
	if err != nil {
		s.T.Fatal(err)
	}
	if out, err := s.TryKubectl(string(data), "replace", "-f", "-"); err != nil {
		s.T.Fatalf("%v: %s", err, out)
	}
	create := request{"create", strings.Replace(harness.Manifest("new", "", "{image: a}"), "mycompany.com/v1\n", "mycompany.com/v1beta1\n", 1), "create -f -"}
	s.Await("the other version to be served", func() (any, bool) {
		out, err := s.as("jane", create)
		if err == nil {
			s.T.Fatalf("the policy does not see requests in another version:\n%s", out)
		}
		return out, strings.HasSuffix(strings.TrimSpace(out), refusal("jane", s.Name))
	})
}

// keepsCRD checks that the CRD cannot be deleted in any way without the annotation, and that other CRDs can.
func (s *space) keepsCRD() {
	s.T.Helper()
	for _, value := range []string{"", "no"} {
		s.Kubectl("annotate", crdObject, "apps.mycompany.com/allow-deletion="+value, "--overwrite")
		out, err := s.TryKubectl("", "delete", "-f", "artifacts/crd.yaml", "--timeout=3m")
		want := `Error from server (Forbidden): error when deleting "artifacts/crd.yaml": customresourcedefinitions.apiextensions.k8s.io ` +
			`"podmanagers.apps.mycompany.com" is forbidden: ` + crdNotice
		if err == nil || !strings.HasSuffix(strings.TrimSpace(out), want) {
			s.T.Errorf("the annotation is %q: %v\nwant\n%s", value, err, want)
		}
	}
	// A collection has no name that a policy could match.
	s.Kubectl("apply", "-f", otherCRD)
	all := s.Cluster.Kube.Discovery().RESTClient().Delete().AbsPath(crdPath).Do(s.Ctx)
	if err := all.Error(); !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), crdNotice) {
		s.T.Errorf("deleting all CRDs: %v", err)
	}
	s.Kubectl("delete", "-f", otherCRD, "--ignore-not-found", "--wait=false") // the request above may have deleted it
	if got := strings.Fields(s.Kubectl("get", "pm", "-o", "name")); len(got) != 2 {
		s.T.Errorf("PodManagers %v are left, want 2", got)
	}
}

// uninstalls checks that make uninstall prints what it deletes, and deletes it.
func (s *space) uninstalls() {
	s.T.Helper()
	const deleting = "Deleting the CRD podmanagers.apps.mycompany.com, and with it all PodManagers (2) and their pods"
	if out := s.makeUninstall(); !strings.HasPrefix(out, deleting+"\n") {
		s.T.Errorf("make uninstall says\n%s\nwant\n%s", out, deleting)
	}
	if got := s.Kubectl("get", "crd", "-o", "name"); strings.Contains(got, "podmanagers") {
		s.T.Errorf("the CRDs %s are left", got)
	}
	if out := s.makeUninstall(); out != "There is no CRD podmanagers.apps.mycompany.com\n" {
		s.T.Errorf("make uninstall, again, says\n%s", out)
	}
}

func (s *space) makeUninstall() string {
	s.T.Helper()
	command := exec.CommandContext(s.Ctx, "make", "uninstall")
	// Without the settings of the make that runs the tests.
	command.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "KUBECONFIG="+s.Cluster.Kubeconfig)
	out, err := command.CombinedOutput()
	if err != nil {
		s.T.Fatalf("make uninstall: %v\n%s", err, out)
	}
	return string(out)
}
