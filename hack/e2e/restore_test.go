//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// restoreCluster is a control plane of the test's own: what it does to etcd would stop all others.
type restoreCluster struct {
	*space
	home string
}

// TestEtcdRestore puts etcd back to an earlier state under a running controller. Versions go back, generations are used
// a second time, and informers hear nothing; the controller has to find its way without a restart.
// (The scheduler of the same cluster does not, so the new pods stay pending.)
func TestEtcdRestore(t *testing.T) {
	t.Parallel()
	c := newRestoreCluster(t)
	p, err := startProcess("restore", "-kubeconfig", c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.kill() })
	c.apply("web", "{replicas: 3, image: nginx}")
	c.kubectl("wait", "--for=condition=Ready", "--timeout=30s", "pm/web")

	backup := t.TempDir()
	c.withEtcdStopped(func() { c.run("cp", "-r", c.home+"/etcd", backup) })
	c.kubectl("scale", "pm/web", "--replicas=8")
	c.awaitStatus("8")
	for i := range 20 {
		c.kubectl("annotate", "pm", "web", "--overwrite", "n="+strconv.Itoa(i))
	}
	c.withEtcdStopped(func() {
		c.run("rm", "-rf", c.home+"/etcd")
		c.run("cp", "-r", backup+"/etcd", c.home+"/etcd")
	})
	if got := c.kubectl("get", "pm", "web", "-o", "jsonpath={.spec.replicas}"); got != "3" {
		t.Fatalf("the restore did not work: %s replicas", got)
	}
	// The same generation as the scaling that the restore has undone.
	c.kubectl("scale", "pm/web", "--replicas=5")
	c.awaitStatus("5")
	if got := strings.Fields(c.kubectl("get", "pods", "-o", "name")); len(got) != 5 {
		t.Errorf("pods %v, want 5", got)
	}
	if n := p.metric(t, "podmanager_rewinds_total", ""); n == 0 {
		t.Error("no rewind was noticed, and still it converged: is the test right?")
	}
}

func newRestoreCluster(t *testing.T) *restoreCluster {
	t.Helper()
	kubeconfig := os.Getenv("KUBECONFIG")
	name := strings.TrimSuffix(filepath.Base(kubeconfig), ".kubeconfig") + "-restore"
	c := &restoreCluster{space: &space{t: t, ctx: t.Context(), name: "default"}}
	cluster := func(command string) string {
		out, err := exec.Command(root+"/hack/cluster/cluster.sh", command, name).CombinedOutput()
		if err != nil {
			t.Fatalf("cluster.sh %s: %v\n%s", command, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	cluster("up")
	t.Cleanup(func() { cluster("down") })
	c.home = filepath.Join(filepath.Dir(kubeconfig), "clusters", name)
	c.kubeconfig = cluster("kubeconfig")
	c.kubectl("apply", "-f", root+"/artifacts/crd.yaml")
	c.await("PodManagers to be served", func() (any, bool) {
		out, err := c.try("", "get", "podmanagers")
		return out, err == nil
	})
	return c
}

// withEtcdStopped kills etcd and the API server, does something, and has the cluster repaired.
func (c *restoreCluster) withEtcdStopped(do func()) {
	c.t.Helper()
	for _, component := range []string{"kube-apiserver", "etcd"} {
		data, err := os.ReadFile(filepath.Join(c.home, "pids", component+".pid"))
		if err != nil {
			c.t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			c.t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			c.t.Fatal(err)
		}
		c.await(component+" to be gone", func() (any, bool) {
			state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			return string(state), err != nil || strings.Contains(string(state), ") Z ")
		})
	}
	do()
	c.run(root+"/hack/cluster/cluster.sh", "up", filepath.Base(c.home))
}

func (c *restoreCluster) run(command string, arguments ...string) {
	c.t.Helper()
	if out, err := exec.Command(command, arguments...).CombinedOutput(); err != nil {
		c.t.Fatalf("%s %v: %v\n%s", command, arguments, err, out)
	}
}

// awaitStatus waits until the status speaks of this many pods, for the present generation.
func (c *restoreCluster) awaitStatus(replicas string) {
	c.t.Helper()
	c.awaitFor(3*patience, "status.replicas to be "+replicas, func() (any, bool) {
		out := c.kubectl("get", "pm", "web", "-o", "jsonpath={.status.replicas} {.metadata.generation} {.status.observedGeneration}")
		fields := strings.Fields(out)
		return out, len(fields) == 3 && fields[0] == replicas && fields[1] == fields[2]
	})
}
