//go:build e2e

package e2eshards

import (
	"context"
	"os"
	"testing"

	"github.com/mycompany/podmanager/hack/lab"
	"github.com/mycompany/podmanager/hack/suite"
)

// cluster is what all tests use.
var cluster *lab.Cluster

const rightsFile = "artifacts/shards/rbac.yaml"

func TestMain(m *testing.M) {
	os.Exit(suite.Run(m, "e2e-shards", setUp, tearDown))
}

func setUp(ctx context.Context, attached *lab.Cluster) error {
	cluster = attached
	_, err := cluster.Kubectl(ctx, "apply", "-f", rightsFile)
	return err
}

func tearDown(bool) error {
	_, err := cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "-f", rightsFile)
	return err
}
