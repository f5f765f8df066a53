//go:build e2e

package core

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// TestSeparateEtcdRestore restores etcd from a backup under a running controller. Versions go back, generations are reused, and informers get no events.
// The controller has to notice it without a restart. (The scheduler does not, so the new pods stay pending.)
func TestSeparateEtcdRestore(t *testing.T) {
	t.Parallel()
	s := newClusterSpace(t, "restore") // a restore of etcd would disturb all other tests
	p, err := startController("restore", "-kubeconfig", s.Cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	s.apply("web", "{replicas: 3, image: nginx}")
	s.Kubectl("wait", "--for=condition=Ready", "--timeout=3m", "pm/web")

	backup := filepath.Join(t.TempDir(), "etcd")
	s.withEtcdStopped(func() error { return s.Cluster.BackUpEtcd(s.Ctx, backup) })
	s.Kubectl("scale", "pm/web", "--replicas=8")
	s.awaitStatus("8")
	for i := range 20 {
		s.Kubectl("annotate", "pm", "web", "--overwrite", "n="+strconv.Itoa(i))
	}
	s.withEtcdStopped(func() error { return s.Cluster.RestoreEtcd(s.Ctx, backup) })
	if got := s.Kubectl("get", "pm", "web", "-o", "jsonpath={.spec.replicas}"); got != "3" {
		t.Fatalf("the restore did not work: %s replicas", got)
	}
	// This change gets the generation that the first scale had before the restore undid it.
	s.Kubectl("scale", "pm/web", "--replicas=5")
	s.awaitStatus("5")
	if got := strings.Fields(s.Kubectl("get", "pods", "-o", "name")); len(got) != 5 {
		t.Errorf("pods %v, want 5", got)
	}
	if n := metric(t, p, "podmanager_rewinds_total", ""); n == 0 {
		t.Error("the controller has converged without noticing a rewind, so this test proves nothing")
	}
}

// newClusterSpace returns a space in a separate cluster, for tests that would disturb all others. Their names begin with TestSeparate, because a
// cluster takes time: they are not a part of make test.
func newClusterSpace(t *testing.T, suffix string, settings ...string) *space {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestSeparate") {
		t.Fatal("the names of tests with a separate cluster begin with TestSeparate")
	}
	name := strings.TrimSuffix(filepath.Base(shared.cluster.Kubeconfig), ".kubeconfig") + "-" + suffix
	cluster, err := lab.Create(t.Context(), name, t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Down(); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.InstallCRD(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &space{&harness.Space{T: t, Ctx: t.Context(), Name: "default", Cluster: cluster}}
}

// withEtcdStopped kills the API server and etcd, calls a function, and restarts them.
func (s *space) withEtcdStopped(do func() error) {
	s.T.Helper()
	for _, step := range []func() error{
		func() error { return s.Cluster.Signal(lab.APIServer, syscall.SIGKILL) },
		func() error { return s.Cluster.Signal(lab.Etcd, syscall.SIGKILL) },
		do,
		func() error { return s.Cluster.Repair(s.Ctx) },
	} {
		if err := step(); err != nil {
			s.T.Fatal(err)
		}
	}
}

// awaitStatus waits until the status of the current generation has this many pods.
func (s *space) awaitStatus(replicas string) {
	s.T.Helper()
	s.AwaitFor(3*harness.Patience, "status.replicas to be "+replicas, func() (any, bool) {
		out := s.Kubectl("get", "pm", "web", "-o", "jsonpath={.status.replicas} {.metadata.generation} {.status.observedGeneration}")
		fields := strings.Fields(out)
		return out, len(fields) == 3 && fields[0] == replicas && fields[1] == fields[2]
	})
}
