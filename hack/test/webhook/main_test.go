//go:build e2e

package webhook

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// cluster is shared by all tests.
var cluster *lab.Cluster

func TestMain(m *testing.M) {
	os.Exit(harness.Run(m, "e2e-webhook", setUp, tearDown))
}

const rightsFile = "artifacts/webhook/rbac.yaml"

func setUp(ctx context.Context, attached *lab.Cluster) error {
	cluster = attached
	_, err := cluster.Kubectl(ctx, "apply", "-f", rightsFile)
	return err
}

// tearDown leaves the cluster as the tests of other packages expect it.
func tearDown(bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	_, rights := cluster.Kubectl(ctx, "delete", "--ignore-not-found", "-f", rightsFile)
	return errors.Join(rights, cluster.InstallCRD(ctx))
}
