//go:build e2e

package shards

import (
	"context"
	"os"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// cluster is what all tests use.
var cluster *lab.Cluster

const rightsFile = "artifacts/shards/rbac.yaml"

func TestMain(m *testing.M) {
	os.Exit(harness.Run(m, "e2e-shards", setUp, tearDown))
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
