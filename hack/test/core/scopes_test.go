//go:build e2e

package core

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// takenUp is how long it may take until a namespace is served once the controller has the permissions.
const takenUp = 40 * time.Second

// account creates a ServiceAccount without permissions, and returns its name and a kubeconfig for it.
func (s *space) account() (name, kubeconfig string) {
	s.T.Helper()
	s.Kubectl("create", "serviceaccount", "limited")
	config, err := clientcmd.LoadFromFile(shared.cluster.OurKubeconfig)
	if err != nil {
		s.T.Fatal(err)
	}
	config.AuthInfos["account"].Token = strings.TrimSpace(s.Kubectl("create", "token", "limited"))
	kubeconfig = filepath.Join(s.T.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		s.T.Fatal(err)
	}
	return s.Name + ":limited", kubeconfig
}

// permit grants an account the controller's permissions in this namespace, with the command that the controller logs.
func (s *space) permit(account string) {
	s.T.Helper()
	s.Kubectl("create", "rolebinding", "limited", "--clusterrole", "podmanager-controller", "--serviceaccount", account)
}

// awaitScopes waits until the metric has these counts.
func (s *space) awaitScopes(p *lab.Process, limit time.Duration, counts map[string]float64) {
	s.T.Helper()
	s.AwaitFor(limit, fmt.Sprintf("namespaces to be %v", counts), func() (any, bool) {
		if _, err := p.ReadMetrics(); err != nil {
			return err, false // the controller has just been started
		}
		for state, want := range counts {
			if got := metric(s.T, p, "podmanager_namespaces", `state="`+state+`"`); got != want {
				return fmt.Sprint(got, " ", state), false
			}
		}
		return nil, true
	})
}

// If the controller has permissions in one of two namespaces, it serves that one. It logs the other one once, and serves it when it gets the
// permissions.
func TestRightsInOneNamespace(t *testing.T) {
	s := newSpace(t)
	other := newSerialSpace(t)
	account, kubeconfig := s.account()
	s.permit(account)
	p := s.launch("-kubeconfig", kubeconfig, "-namespace", s.Name, "-namespace", other.Name)
	s.awaitScopes(p, harness.Patience, map[string]float64{"served": 1, "forbidden": 1})
	s.applyPrivate("here", "{replicas: 2, image: nginx}")
	s.awaitReady("here", 2)

	seen, err := p.Ready()
	if err != nil {
		t.Errorf("/readyz fails although a namespace is served: %v", err)
	}
	for _, part := range []string{
		"[+]namespaces ok\n", "[+]namespace " + s.Name + " ok\n", "[!]namespace " + other.Name + ": system:serviceaccount:" + account + " may not ",
		"list, watch, create, patch, delete pods;", "run kubectl create rolebinding podmanager-controller --namespace " + other.Name, "--serviceaccount " + account,
	} {
		if !strings.Contains(seen, part) {
			t.Errorf("/readyz?verbose has no %q:\n%s", part, seen)
		}
	}
	other.applyPrivate("there", "{replicas: 1, image: nginx}")
	if lines := logged(t, p, `"Not served; will start`); len(lines) != 1 || !strings.Contains(lines[0], "namespace "+other.Name) {
		t.Errorf("want one line about the other namespace: %q", lines)
	}
	other.permit(account)
	s.awaitScopes(p, takenUp, map[string]float64{"served": 2, "forbidden": 0})
	other.awaitReady("there", 1)

	// A check during the grant may have found only some of the permissions, and logged the missing ones.
	before := len(logged(t, p, `"Not served; will start`))
	other.Kubectl("delete", "rolebinding", "limited")
	s.awaitScopes(p, takenUp, map[string]float64{"served": 1, "forbidden": 1})
	if lines := logged(t, p, `"Not served; will start`); len(lines) <= before {
		t.Errorf("want a line for each time that permissions were missing: %q", lines)
	}
	if lines := logged(t, p, "Failed to watch"); len(lines) > 0 {
		t.Errorf("raw errors of informers: %q", lines)
	}
}

// Without any permissions the controller is not ready, reports why, and does not acquire the Lease.
func TestNoRights(t *testing.T) {
	s := newSpace(t)
	account, kubeconfig := s.account()
	s.Kubectl("create", "role", "lease", "--verb", "create,get,update", "--resource", "leases.coordination.k8s.io")
	s.Kubectl("create", "rolebinding", "lease", "--role", "lease", "--serviceaccount", account)
	p := s.launch("-kubeconfig", kubeconfig, "-namespace", s.Name, "-leader-elect", "-leader-elect-resource-namespace", s.Name)
	s.awaitScopes(p, harness.Patience, map[string]float64{"served": 0, "forbidden": 1})
	want := "[-]namespaces failed: namespace " + s.Name + ": system:serviceaccount:" + account + " may not "
	if _, err := p.Ready(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("/readyz says %v, want %q in it", err, want)
	}
	leases := shared.kube.CoordinationV1().Leases(s.Name)
	if _, err := leases.Get(t.Context(), "podmanager-controller", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Lease must not exist: %v", err)
	}
	s.applyPrivate("web", "{replicas: 1, image: nginx}")
	s.permit(account)
	s.AwaitFor(takenUp, "the controller to be ready", func() (any, bool) {
		seen, err := p.Ready()
		return fmt.Sprint(seen, err), err == nil
	})
	s.awaitReady("web", 1)
}

// The controller logs that a namespace does not exist, and serves it once it exists.
func TestMissingNamespace(t *testing.T) {
	s := newSpace(t)
	missing := s.Name + "-typo"
	p := s.private("-namespace", missing)
	s.awaitScopes(p, harness.Patience, map[string]float64{"served": 1, "missing": 1})
	note := "[!]namespace " + missing + ": the namespace does not exist; create it, or correct -namespace\n"
	if seen, err := p.Ready(); err != nil || !strings.Contains(seen, note) {
		t.Errorf("/readyz?verbose says %q, %v", seen, err)
	}
	if lines := logged(t, p, missing); len(lines) != 2 { // the controller logs the first line when it starts
		t.Errorf("the log has these lines about the missing namespace, want two: %q", lines)
	}
	s.Kubectl("create", "namespace", missing)
	t.Cleanup(func() {
		_ = shared.kube.CoreV1().Namespaces().Delete(context.Background(), missing, metav1.DeleteOptions{})
	})
	s.awaitScopes(p, takenUp, map[string]float64{"served": 2, "missing": 0})
}

// Without the CRD the controller is not ready, and reports what to do. With the CRD it is ready again.
func TestCRDGone(t *testing.T) {
	f := newFaulty(t)
	isManagers := func(r faults.Request) bool { return r.Resource == "podmanagers" }
	restore := f.answer("no CRD", 404, isManagers)
	f.proxy.CutWatches(isManagers)
	f.awaitScopes(f.controller, harness.Patience, map[string]float64{"served": 0, "noCRD": 1})
	if _, err := f.controller.Ready(); err == nil || !strings.Contains(err.Error(), "run kubectl apply -f artifacts/crd.yaml") {
		t.Errorf("/readyz says %v", err)
	}
	restore()
	f.awaitScopes(f.controller, 90*time.Second, map[string]float64{"served": 1, "noCRD": 0})
	if seen, err := f.controller.Ready(); err != nil {
		t.Errorf("/readyz fails although the CRD is back: %q %v", seen, err)
	}
	f.applyPrivate("web", "{replicas: 1, image: nginx}")
	f.awaitReady("web", 1)
	if lines := logged(t, f.controller, `"Not served; will start`); len(lines) != 1 {
		t.Errorf("the log reports the missing CRD %d times: %q", len(lines), lines)
	}
}

// While the API server is down, a controller with filled caches stays ready, and /readyz has a warning.
func TestAPIServerAway(t *testing.T) {
	f := newFaulty(t)
	all := func(faults.Request) bool { return true }
	restore := f.proxy.Inject(faults.Rule{Name: "away", Match: all, Rate: 1, Faults: []faults.Fault{{Strike: func() {}}}})
	f.proxy.CutWatches(all)
	f.Await("a note about the silence", func() (any, bool) {
		seen, err := f.controller.Ready()
		if err != nil {
			t.Fatalf("/readyz fails: %v", err)
		}
		return seen, strings.Contains(seen, "[!]apiServer: has not answered for 3")
	})
	restore()
	f.Await("the note to go", func() (any, bool) {
		seen, err := f.controller.Ready()
		return fmt.Sprint(seen, err), strings.Contains(seen, "[+]apiServer ok\n")
	})
	f.applyPrivate("web", "{replicas: 1, image: nginx}")
	f.awaitReady("web", 1)
}
