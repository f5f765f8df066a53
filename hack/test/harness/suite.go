// Package harness is what the packages of end-to-end tests on simulated nodes (hack/test/core and the like) have in common: the frame around their
// tests, namespaces, and waiting.
package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// Run runs the tests of a package on the cluster that make e2e has started, and returns the exit code. setUp starts what the tests share;
// end stops it, and is told whether all tests have passed. If something fails, the logs of the controllers stay.
func Run(m *testing.M, name string, setUp func(context.Context, *lab.Cluster) error, end func(passed bool) error) int {
	folder, err := os.MkdirTemp("", "podmanager-"+name+"-")
	if err == nil {
		err = begin(folder, setUp)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 1
	}
	code := m.Run()
	if err := end(code == 0); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, "%s: logs of the controllers are in %s\n", name, folder)
		return code
	}
	_ = os.RemoveAll(folder)
	return code
}

// begin builds the controller and installs the CRD and RBAC before the package sets up its own.
func begin(folder string, setUp func(context.Context, *lab.Cluster) error) error {
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		return errors.New("KUBECONFIG must name a cluster's kubeconfig; make e2e sees to that")
	}
	if err := os.Chdir("../../.."); err != nil { // to the root of the project, as hack/test/harness/lab expects
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute) // the first time, tools such as Helm are built
	defer cancel()
	var buildFlags []string
	if os.Getenv("E2E_RACE") != "" {
		buildFlags = []string{"-race"}
	}
	cluster, err := lab.Attach(ctx, kubeconfig, folder, buildFlags...)
	if err != nil {
		return err
	}
	return setUp(ctx, cluster)
}

// NewNamespace creates a namespace for a test, and deletes it when the test is over. Of a test that has failed it shows what kubectl get
// prints with these arguments, if there are any.
func NewNamespace(t *testing.T, cluster *lab.Cluster, prefix string, show ...string) string {
	t.Helper()
	client := cluster.Kube.CoreV1().Namespaces()
	created, err := client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && len(show) > 0 {
			out, _ := cluster.Kubectl(context.Background(), append([]string{"get", "--namespace", created.Name}, show...)...)
			t.Logf("what is in %s:\n%s", created.Name, out)
		}
		_ = client.Delete(context.Background(), created.Name, metav1.DeleteOptions{})
	})
	return created.Name
}

// Patience is how long a test waits for something that takes a second on an idle machine: a machine with other things to do may need a minute.
const Patience = 3 * time.Minute

// Await repeats a check until it holds. If it does not hold in time, the test fails with what was last seen.
func Await(t *testing.T, what string, check func() (seen any, ok bool)) {
	t.Helper()
	AwaitFor(t, Patience, what, check)
}

// AwaitFor is Await for something that may take longer, or must not take that long.
func AwaitFor(t *testing.T, limit time.Duration, what string, check func() (seen any, ok bool)) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		seen, ok := check()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s; last seen: %+v", limit, what, seen)
		}
	}
}
