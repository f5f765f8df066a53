//go:build e2e

package e2eplugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/lab"
)

// shared is what all tests use.
var shared struct {
	cluster *lab.Cluster
	// plugins is a folder with kubectl-podmanager, kubectl-pm and their completion.
	plugins string
}

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	folder, err := os.MkdirTemp("", "podmanager-e2e-plugin-")
	var controller *lab.Process
	if err == nil {
		controller, err = setUp(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-plugin:", err)
		return 1
	}
	code := m.Run()
	if err := controller.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e-plugin:", err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "e2e-plugin: the controller's log is in", folder)
		return code
	}
	_ = os.RemoveAll(folder)
	return code
}

// setUp builds the plugin as make plugin does, and starts the controller.
func setUp(folder string) (*lab.Process, error) {
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		return nil, errors.New("KUBECONFIG must name a cluster's kubeconfig; make e2e sees to that")
	}
	if err := os.Chdir("../.."); err != nil { // to the root of the project, as hack/lab expects
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	shared.plugins = filepath.Join(folder, "bin")
	if err := os.Mkdir(shared.plugins, 0o755); err != nil {
		return nil, err
	}
	program := filepath.Join(shared.plugins, "kubectl-podmanager")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/kubectl-podmanager").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	for _, name := range []string{"podmanager", "pm"} {
		called := filepath.Join(shared.plugins, "kubectl-"+name)
		if name == "pm" {
			if err := os.Symlink(program, called); err != nil {
				return nil, err
			}
		}
		script, err := exec.CommandContext(ctx, called, "completion", "kubectl").Output()
		if err == nil {
			err = os.WriteFile(filepath.Join(shared.plugins, "kubectl_complete-"+name), script, 0o755)
		}
		if err != nil {
			return nil, err
		}
	}
	var err error
	if shared.cluster, err = lab.Attach(ctx, kubeconfig, folder); err != nil {
		return nil, err
	}
	return shared.cluster.Start(ctx, "controller", "-v", "2")
}
