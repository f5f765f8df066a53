//go:build e2e

package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

const (
	systemSpace = "podmanager-system"
	realNode    = "real-node"
)

// shared is what all tests use.
var shared struct {
	cluster    *lab.Cluster
	controller *lab.Process
	kube       kubernetes.Interface
	managers   versioned.Interface
}

func TestMain(m *testing.M) {
	os.Exit(harness.Run(m, "e2e-node", setUp, func(bool) error { return shared.controller.StopCleanly() }))
}

// setUp removes what a run that was killed may have left, and starts the controller.
func setUp(ctx context.Context, cluster *lab.Cluster) error {
	shared.cluster, shared.kube, shared.managers = cluster, cluster.Kube, cluster.Managers
	err := runCommands(
		[]string{"kubectl", "wait", "--for=condition=Ready", "--timeout=60s", "node/" + realNode},
		[]string{"kubectl", "delete", "--ignore-not-found", "-f", "artifacts/deployment.yaml", "-f", "artifacts/networkpolicy.yaml"},
		withoutWebhooks,
	)
	if err != nil {
		return err
	}
	return startController(ctx)
}

// runCommands runs commands in the root of the project, one after the other, until one fails.
func runCommands(commands ...[]string) error {
	for _, command := range commands {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", command, err, out)
		}
	}
	return nil
}

func startController(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, harness.Patience)
	defer cancel()
	shared.controller, err = shared.cluster.Start(ctx, "controller", "-v", "4")
	return err
}

// withoutController stops the controller that all tests share, until a test that runs alone is over.
func withoutController(t *testing.T) {
	t.Helper()
	if err := shared.controller.StopCleanly(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := startController(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}

// client sends requests to pods. Each request uses a new connection, because the container behind an address changes. The controller's certificate
// is self-signed.
var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
	DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
}}
