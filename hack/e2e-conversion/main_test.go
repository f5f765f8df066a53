//go:build e2e

package e2econversion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/mycompany/podmanager/hack/lab"
)

// shared is what all tests use.
var shared struct {
	cluster *lab.Cluster
	dynamic dynamic.Interface
	// plugin is the program kubectl-podmanager.
	plugin string
	hook   *webhook
}

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	folder, err := os.MkdirTemp("", "podmanager-e2e-conversion-")
	var controller *lab.Process
	if err == nil {
		controller, err = setUp(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-conversion:", err)
		return 1
	}
	code := m.Run()
	if err := errors.Join(controller.Stop(), putBack()); err != nil {
		fmt.Fprintln(os.Stderr, "e2e-conversion:", err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "e2e-conversion: the controller's log is in", folder)
		return code
	}
	_ = os.RemoveAll(folder)
	return code
}

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
	shared.plugin = filepath.Join(folder, "kubectl-podmanager")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", shared.plugin, "./cmd/kubectl-podmanager").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	var err error
	if shared.cluster, err = lab.Attach(ctx, kubeconfig, folder); err != nil {
		return nil, err
	}
	if shared.dynamic, err = dynamic.NewForConfig(shared.cluster.Config); err != nil {
		return nil, err
	}
	if shared.hook, err = newWebhook(); err != nil {
		return nil, err
	}
	// The rest of the package is about a controller that is there before v1alpha1 is, and stays.
	return shared.cluster.Start(ctx, "controller", "-v", "2")
}

// putBack installs the CRD that the other tests expect. It has no v1alpha1, which the API server allows as no object is stored so.
func putBack() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(shared.hook.start(), shared.cluster.InstallCRD(ctx), shared.hook.stop())
}
