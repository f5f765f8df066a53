//go:build e2e

package plugin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// shared holds what all tests use.
var shared struct {
	cluster    *lab.Cluster
	controller *lab.Process
	// plugins is a folder with kubectl-podmanager, kubectl-pm and their completion scripts.
	plugins string
}

func TestMain(m *testing.M) {
	os.Exit(harness.Run(m, "e2e-plugin", setUp, func(bool) error { return shared.controller.Stop() }))
}

// setUp installs the plugin as make plugin does, and starts the controller.
func setUp(ctx context.Context, cluster *lab.Cluster) error {
	shared.cluster, shared.plugins = cluster, filepath.Join(cluster.Folder, "bin")
	if err := os.Mkdir(shared.plugins, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"podmanager", "pm"} {
		called := filepath.Join(shared.plugins, "kubectl-"+name)
		if err := os.Symlink(filepath.Join(cluster.Programs, "kubectl-podmanager"), called); err != nil {
			return err
		}
		script, err := exec.CommandContext(ctx, called, "completion", "kubectl").Output()
		if err == nil {
			err = os.WriteFile(filepath.Join(shared.plugins, "kubectl_complete-"+name), script, 0o755)
		}
		if err != nil {
			return err
		}
	}
	var err error
	shared.controller, err = cluster.Start(ctx, "controller", "-v", "2")
	return err
}
