//go:build e2e

package simulation

import (
	"context"
	"os"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// cluster is the real cluster.
var cluster *lab.Cluster

func TestMain(m *testing.M) {
	os.Exit(harness.Run(m, "e2e-simulation", func(_ context.Context, attached *lab.Cluster) error {
		cluster = attached
		return nil
	}, func(bool) error { return nil }))
}
