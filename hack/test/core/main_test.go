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
	// privateLabel marks PodManagers that the shared controller leaves to a test's own controller.
	privateLabel = "e2e.mycompany.com/private"
)

// shared is what all tests use.
var shared struct {
	cluster *lab.Cluster
	// controller serves all PodManagers except private ones.
	controller *lab.Process
	// kube and managers have administrator permissions, and no limit on requests.
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
	// A kept cluster already has this Lease. The controller would not use its permission to create it, and the check of the rights would fail.
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
		problems = append(problems, fmt.Errorf("the controller's permissions and its use of them differ:\n%w", err))
	}
	return errors.Join(problems...)
}
