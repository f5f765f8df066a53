//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

const (
	root           = "../.."
	systemSpace    = "podmanager-system"
	serviceAccount = "podmanager-controller"
	// privateLabel keeps a PodManager away from the controller that all tests share: the test has its own.
	privateLabel = "e2e.mycompany.com/private"
)

// shared is what all tests use.
var shared struct {
	// folder has the programs, kubeconfigs and logs of this run.
	folder string
	// binary is the controller.
	binary string
	// kubeconfig is the controller's: its ServiceAccount, not an administrator.
	kubeconfig string
	controller *process
	kube       kubernetes.Interface
	managers   versioned.Interface
}

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	if err := setUp(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	code := m.Run()
	if err := shared.controller.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: the controller did not stop cleanly:", err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "e2e: logs of the controllers are in", shared.folder)
		return code
	}
	_ = os.RemoveAll(shared.folder)
	return code
}

// setUp builds the controller, installs what a user would install, and starts the shared controller.
func setUp() error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("KUBECONFIG must name a cluster's kubeconfig; make e2e sees to that: %w", err)
	}
	config.QPS = -1 // the tests' own client is not under test
	if shared.kube, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if shared.managers, err = versioned.NewForConfig(config); err != nil {
		return err
	}
	if shared.folder, err = os.MkdirTemp("", "podmanager-e2e-"); err != nil {
		return err
	}
	shared.binary = filepath.Join(shared.folder, "controller")
	build := []string{"go", "build", "-o", shared.binary, "./cmd/controller"}
	if os.Getenv("E2E_RACE") != "" {
		build = []string{"go", "build", "-race", "-o", shared.binary, "./cmd/controller"}
	}
	for _, command := range [][]string{
		build,
		{"kubectl", "apply", "--server-side=false", "-f", "artifacts/crd.yaml", "-f", "artifacts/rbac.yaml"},
		// kubectl wait fails on a CRD that is so new that it has no conditions at all.
		{"bash", "-c", "for try in {1..100}; do kubectl get podmanagers >/dev/null && exit; sleep 0.2; done; exit 1"},
	} {
		run := exec.Command(command[0], command[1:]...)
		run.Dir = root
		if out, err := run.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", command, err, out)
		}
	}
	if err := writeControllerKubeconfig(config); err != nil {
		return err
	}
	shared.controller, err = startProcess("shared", "-selector", "!"+privateLabel)
	return err
}

// writeControllerKubeconfig makes a kubeconfig with a token of the controller's ServiceAccount.
func writeControllerKubeconfig(admin *rest.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	token, err := exec.CommandContext(ctx, "kubectl", "create", "token", serviceAccount, "--namespace", systemSpace, "--duration", "4h").Output()
	if err != nil {
		return fmt.Errorf("creating a token: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"] = &clientcmdapi.Cluster{
		Server: admin.Host, CertificateAuthority: admin.CAFile, CertificateAuthorityData: admin.CAData,
	}
	config.AuthInfos["controller"] = &clientcmdapi.AuthInfo{Token: string(token)}
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "controller"}
	config.CurrentContext = "e2e"
	shared.kubeconfig = filepath.Join(shared.folder, "controller.kubeconfig")
	return clientcmd.WriteToFile(*config, shared.kubeconfig)
}
