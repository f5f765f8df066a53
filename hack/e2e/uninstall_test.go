//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	crdPath   = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	otherCRD  = "hack/e2e-chart/testdata/servicemonitor-crd.yaml"
	crdNotice = `ValidatingAdmissionPolicy 'podmanager-crd-deletion' with binding 'podmanager-crd-deletion' denied request: ` +
		`with this CRD all PodManagers and their pods would be deleted. If that is what you want, run: ` +
		`kubectl annotate crd podmanagers.apps.mycompany.com apps.mycompany.com/allow-deletion=true`
)

// The CRD is deleted only if it carries the annotation, by whoever and however. Other CRDs are not held up. make uninstall tells what it
// deletes, and deletes it.
func TestUninstall(t *testing.T) {
	t.Parallel()
	s := newClusterSpace(t, "uninstall")
	s.kubectl("apply", "-f", "artifacts/policy.yaml")
	s.await("the policy to be in force", func() (any, bool) {
		out, err := s.try("", "delete", "crd/podmanagers.apps.mycompany.com", "--dry-run=server")
		return out, err != nil
	})
	s.apply("web", "{image: nginx}")
	s.apply("db", "{image: nginx}")
	for _, value := range []string{"", "no"} {
		s.kubectl("annotate", "crd/podmanagers.apps.mycompany.com", "apps.mycompany.com/allow-deletion="+value, "--overwrite")
		out, err := s.try("", "delete", "-f", "artifacts/crd.yaml", "--timeout=30s")
		want := `Error from server (Forbidden): error when deleting "artifacts/crd.yaml": customresourcedefinitions.apiextensions.k8s.io ` +
			`"podmanagers.apps.mycompany.com" is forbidden: ` + crdNotice
		if err == nil || !strings.HasSuffix(strings.TrimSpace(out), want) {
			t.Errorf("the annotation is %q: %v\nwant\n%s", value, err, want)
		}
	}

	// A collection has no name that a policy could look for.
	s.kubectl("apply", "-f", otherCRD)
	all := s.cluster.Kube.Discovery().RESTClient().Delete().AbsPath(crdPath).Do(s.ctx)
	if err := all.Error(); !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), crdNotice) {
		t.Errorf("deleting all CRDs: %v", err)
	}
	s.kubectl("delete", "-f", otherCRD, "--ignore-not-found", "--timeout=30s")
	if got := strings.Fields(s.kubectl("get", "pm", "-o", "name")); len(got) != 2 {
		t.Errorf("PodManagers %v are left, want 2", got)
	}

	const deleting = "Deleting the CRD podmanagers.apps.mycompany.com, and with it all PodManagers (2) and their pods"
	if out := s.makeUninstall(); !strings.HasPrefix(out, deleting+"\n") {
		t.Errorf("make uninstall says\n%s\nwant\n%s", out, deleting)
	}
	if got := s.kubectl("get", "crd", "-o", "name"); strings.Contains(got, "podmanagers") {
		t.Errorf("the CRDs %s are left", got)
	}
	if out := s.makeUninstall(); out != "There is no CRD podmanagers.apps.mycompany.com\n" {
		t.Errorf("make uninstall, again, says\n%s", out)
	}
}

func (s *space) makeUninstall() string {
	s.t.Helper()
	command := exec.CommandContext(s.ctx, "make", "uninstall")
	// Nothing of what the make that runs the tests was told.
	command.Env = append(os.Environ(), "MAKEFLAGS=", "KUBECONFIG="+s.cluster.Kubeconfig)
	out, err := command.CombinedOutput()
	if err != nil {
		s.t.Fatalf("make uninstall: %v\n%s", err, out)
	}
	return string(out)
}
