//go:build e2e

package e2emonitoring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/lab"
	"github.com/mycompany/podmanager/hack/monitoring"
)

// patience is how long a test waits for something that takes some seconds on an idle machine.
const patience = 60 * time.Second

// shared is what all tests use. They run one after the other, since there is one controller.
var shared struct {
	cluster    *lab.Cluster
	prometheus *monitoring.Prometheus
	controller *lab.Process
	// address is that of the controller's metrics, also after a restart.
	address string
}

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	folder, err := os.MkdirTemp("", "podmanager-e2e-monitoring-")
	if err == nil {
		err = setUp(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-monitoring:", err)
		return 1
	}
	code := m.Run()
	for _, process := range []*lab.Process{shared.controller, shared.prometheus.Process} {
		if err := process.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e-monitoring:", err)
			code = 1
		}
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "e2e-monitoring: logs are in", folder)
		return code
	}
	_ = os.RemoveAll(folder)
	return code
}

func setUp(folder string) error {
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		return errors.New("KUBECONFIG must name a cluster's kubeconfig; make e2e sees to that")
	}
	if err := os.Chdir("../.."); err != nil { // to the root of the project, as hack/lab expects
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute) // the first time, Prometheus is built
	defer cancel()
	var err error
	if shared.cluster, err = lab.Attach(ctx, kubeconfig, folder); err != nil {
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
	data := filepath.Join(folder, "prometheus")
	if err := os.Mkdir(data, 0o755); err != nil {
		return err
	}
	shared.prometheus, err = monitoring.Start(ctx, data, "1s", monitoring.Hasten(rules), shared.address)
	return err
}

// startController starts the controller, as a replica that stands for election. It does not wait until the controller leads.
func startController(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	flags := []string{"-v", "4", "-object-metrics", "-leader-elect", "-leader-elect-resource-namespace", systemSpace,
		"-leader-elect-lease-duration", "3s", "-leader-elect-renew-deadline", "2s", "-leader-elect-retry-period", "500ms"}
	if shared.address != "" {
		flags = append(flags, "-metrics-bind-address", shared.address)
	}
	var err error
	shared.controller, err = shared.cluster.Start(ctx, "controller", flags...)
	return err
}
