//go:build e2e

package monitoring

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	"github.com/mycompany/podmanager/hack/test/harness/monitoring"
)

// shardRights are the additional permissions that -shards needs.
const shardRights = "artifacts/shards/rbac.yaml"

// shared is what all tests use. They run one after the other, because there is one controller.
var shared struct {
	cluster    *lab.Cluster
	prometheus *monitoring.Prometheus
	controller *lab.Process
	// address is the address of the controller's metrics. It stays the same when the controller restarts.
	address string
}

func TestMain(m *testing.M) {
	os.Exit(harness.Run(m, "e2e-monitoring", setUp, tearDown))
}

func setUp(ctx context.Context, cluster *lab.Cluster) error {
	shared.cluster = cluster
	if _, err := cluster.Kubectl(ctx, "apply", "-f", shardRights); err != nil {
		return err
	}
	if err := startController(ctx); err != nil {
		return err
	}
	shared.address = shared.controller.Metrics
	rules, err := os.ReadFile(monitoring.AlertsFile)
	if err != nil {
		return err
	}
	data := filepath.Join(cluster.Folder, "prometheus")
	if err := os.Mkdir(data, 0o755); err != nil {
		return err
	}
	shared.prometheus, err = monitoring.Start(ctx, data, "1s", monitoring.Hasten(rules), shared.address)
	return err
}

func tearDown(bool) error {
	_, err := shared.cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "-f", shardRights)
	return errors.Join(shared.controller.Stop(), shared.prometheus.Stop(), err)
}

// startController starts the controller as a candidate for leadership. It does not wait until the controller leads.
func startController(ctx context.Context, more ...string) error {
	ctx, cancel := context.WithTimeout(ctx, harness.Patience)
	defer cancel()
	flags := []string{"-v", "4", "-object-metrics", "-leader-elect", "-leader-elect-resource-namespace", systemSpace,
		"-leader-elect-lease-duration", "3s", "-leader-elect-renew-deadline", "2s", "-leader-elect-retry-period", "500ms"}
	if shared.address != "" {
		flags = append(flags, "-metrics-bind-address", shared.address)
	}
	var err error
	shared.controller, err = shared.cluster.Start(ctx, "controller", append(flags, more...)...)
	return err
}
