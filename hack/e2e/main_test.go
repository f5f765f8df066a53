//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/mycompany/podmanager/hack/lab"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

const (
	systemSpace = "podmanager-system"
	// privateLabel is on PodManagers that the shared controller leaves to a controller of the test.
	privateLabel = "e2e.mycompany.com/private"
)

// shared has what all tests use.
var shared struct {
	cluster *lab.Cluster
	// controller serves all PodManagers except for private ones.
	controller *lab.Process
	// kube and managers have the rights of an administrator, and no limits on requests.
	kube     kubernetes.Interface
	managers versioned.Interface
	rights   *rightsWatch
}

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	folder, err := os.MkdirTemp("", "podmanager-e2e-")
	if err == nil {
		err = setUp(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	code := m.Run()
	if err := stopController(shared.controller); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: the controller did not stop cleanly:", err)
		code = 1
	}
	if err := shared.rights.judge(code == 0 && ranAll()); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: the controller's rights and what it does with them differ:\n%v\n", err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "e2e: logs of the controllers are in", folder)
		return code
	}
	_ = os.RemoveAll(folder)
	return code
}

// setUp builds the controller, installs the CRD and RBAC, and starts the shared controller.
func setUp(folder string) error {
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		return errors.New("KUBECONFIG must name a cluster's kubeconfig; make e2e sees to that")
	}
	if err := os.Chdir("../.."); err != nil { // to the root of the project, as hack/lab expects
		return err
	}
	var buildFlags []string
	if os.Getenv("E2E_RACE") != "" {
		buildFlags = []string{"-race"}
	}
	var err error
	if shared.cluster, err = lab.Attach(context.Background(), kubeconfig, folder, buildFlags...); err != nil {
		return err
	}
	shared.kube, shared.managers = shared.cluster.Kube, shared.cluster.Managers
	if shared.rights, err = watchRights(); err != nil {
		return err
	}
	// On a cluster that was kept, there is one already: nobody would use the right to create it.
	if _, err := shared.cluster.Kubectl(context.Background(), "delete", "lease", ourAccount, "--namespace", systemSpace, "--ignore-not-found"); err != nil {
		return err
	}
	shared.controller, err = startController("shared", "-selector", "!"+privateLabel)
	return err
}
