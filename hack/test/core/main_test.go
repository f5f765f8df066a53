//go:build e2e

package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
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
	os.Exit(harness.Run(m, "e2e", setUp, tearDown))
}

// setUp starts the shared controller.
func setUp(ctx context.Context, cluster *lab.Cluster) error {
	shared.cluster, shared.kube, shared.managers = cluster, cluster.Kube, cluster.Managers
	var err error
	if shared.rights, err = watchRights(); err != nil {
		return err
	}
	// On a cluster that was kept, there is one already: nobody would use the right to create it.
	if _, err := cluster.Kubectl(ctx, "delete", "lease", ourAccount, "--namespace", systemSpace, "--ignore-not-found"); err != nil {
		return err
	}
	shared.controller, err = startController("shared", "-selector", "!"+privateLabel)
	return err
}

func tearDown(passed bool) error {
	var problems []error
	if err := shared.controller.StopCleanly(); err != nil {
		problems = append(problems, fmt.Errorf("the controller did not stop cleanly: %w", err))
		passed = false
	}
	if err := shared.rights.judge(passed && ranAll()); err != nil {
		problems = append(problems, fmt.Errorf("the controller's rights and what it does with them differ:\n%w", err))
	}
	return errors.Join(problems...)
}
