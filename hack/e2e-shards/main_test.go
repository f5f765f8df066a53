//go:build e2e

package e2eshards

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

const rightsFile = "artifacts/shards/rbac.yaml"

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	folder, err := os.MkdirTemp("", "podmanager-e2e-shards-")
	if err == nil {
		err = setUp(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e-shards:", err)
		return 1
	}
	code := m.Run()
	if _, err := cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "-f", rightsFile); err != nil {
		fmt.Fprintln(os.Stderr, "e2e-shards:", err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "e2e-shards: logs of the controllers are in", folder)
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
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var err error
	if cluster, err = lab.Attach(ctx, kubeconfig, folder); err != nil {
		return err
	}
	_, err = cluster.Kubectl(ctx, "apply", "-f", rightsFile)
	return err
}
