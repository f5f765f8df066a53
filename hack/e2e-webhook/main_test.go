//go:build e2e

package e2ewebhook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/lab"
)

// cluster is what all tests use.
var cluster *lab.Cluster

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	folder, err := os.MkdirTemp("", "podmanager-e2e-webhook-")
	if err == nil {
		err = setUp(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-webhook:", err)
		return 1
	}
	code := m.Run()
	if err := putBack(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e-webhook:", err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "e2e-webhook: logs of the controllers are in", folder)
		return code
	}
	_ = os.RemoveAll(folder)
	return code
}

const rightsFile = "artifacts/webhook/rbac.yaml"

func setUp(folder string) error {
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		return errors.New("KUBECONFIG must name a cluster's kubeconfig; make e2e sees to that")
	}
	if err := os.Chdir("../.."); err != nil { // to the root of the project, as hack/lab expects
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var err error
	if cluster, err = lab.Attach(ctx, kubeconfig, folder); err != nil {
		return err
	}
	_, err = cluster.Kubectl(ctx, "apply", "-f", rightsFile)
	return err
}

// putBack leaves the cluster as the tests of other packages expect it.
func putBack() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, rights := cluster.Kubectl(ctx, "delete", "--ignore-not-found", "-f", rightsFile)
	return errors.Join(rights, cluster.InstallCRD(ctx))
}
