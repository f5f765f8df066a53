//go:build e2e

package conversion

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/dynamic"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// shared holds what all tests use.
var shared struct {
	cluster    *lab.Cluster
	controller *lab.Process
	dynamic    dynamic.Interface
	// plugin is the program kubectl-podmanager.
	plugin string
	hook   *webhook
}

func TestMain(m *testing.M) {
	os.Exit(harness.Run(m, "e2e-conversion", setUp, tearDown))
}

func setUp(ctx context.Context, cluster *lab.Cluster) error {
	shared.cluster = cluster
	shared.plugin = filepath.Join(cluster.Programs, "kubectl-podmanager")
	var err error
	if shared.dynamic, err = dynamic.NewForConfig(shared.cluster.Config); err != nil {
		return err
	}
	if shared.hook, err = newWebhook(); err != nil {
		return err
	}
	// The tests of this package use a controller that was started before v1alpha1 is served, and keeps running.
	shared.controller, err = cluster.Start(ctx, "controller", "-v", "2")
	return err
}

// tearDown stops the controller, and installs the CRD that the other tests expect. It has no v1alpha1, which the API server accepts because no
// object is stored in that version.
func tearDown(bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	return errors.Join(shared.controller.Stop(), shared.hook.start(), shared.cluster.InstallCRD(ctx), shared.hook.stop())
}
