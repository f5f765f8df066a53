//go:build e2e

package e2ewebhook

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/mycompany/podmanager/hack/lab"
	"github.com/mycompany/podmanager/hack/suite"
)

// cluster is what all tests use.
var cluster *lab.Cluster

func TestMain(m *testing.M) {
	os.Exit(suite.Run(m, "e2e-webhook", setUp, tearDown))
}

const rightsFile = "artifacts/webhook/rbac.yaml"

func setUp(ctx context.Context, attached *lab.Cluster) error {
	cluster = attached
	_, err := cluster.Kubectl(ctx, "apply", "-f", rightsFile)
	return err
}

// tearDown leaves the cluster as the tests of other packages expect it.
func tearDown(bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), suite.Patience)
	defer cancel()
	_, rights := cluster.Kubectl(ctx, "delete", "--ignore-not-found", "-f", rightsFile)
	return errors.Join(rights, cluster.InstallCRD(ctx))
}
