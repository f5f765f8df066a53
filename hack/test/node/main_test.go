//go:build e2e

package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

const (
	root           = "../../.."
	systemSpace    = "podmanager-system"
	serviceAccount = "podmanager-controller"
	realNode       = "real-node"
)

// shared is what all tests use.
var shared struct {
	// folder has the controller, its kubeconfig and its logs, and the plugin of kubectl.
	folder     string
	controller *exec.Cmd
	kube       kubernetes.Interface
	managers   versioned.Interface
}

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	if err := setUp(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e-node:", err)
		return 1
	}
	code := m.Run()
	if err := stopController(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e-node:", err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "e2e-node: the controller's logs are in", shared.folder)
		return code
	}
	_ = os.RemoveAll(shared.folder)
	return code
}

// setUp builds the controller and the plugin, installs what a user would install, and starts it.
func setUp() error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("KUBECONFIG must name a cluster's kubeconfig; make e2e-node sees to that: %w", err)
	}
	config.QPS = -1 // the tests' own client is not under test
	if shared.kube, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if shared.managers, err = versioned.NewForConfig(config); err != nil {
		return err
	}
	folder, err := exec.Command(root+"/hack/cluster/cluster.sh", "logs", "e2e-node").Output()
	if err != nil {
		return fmt.Errorf("cluster.sh logs: %w", err)
	}
	shared.folder = strings.TrimSpace(string(folder))
	built := make(chan error, 1)
	go func() {
		// As make image compiles it, so that one program serves as a process and in an image.
		built <- runCommands([]string{"env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w",
			"-o", shared.folder + "/", "./cmd/controller", "./cmd/kubectl-podmanager"})
	}()
	err = runCommands(
		[]string{"kubectl", "wait", "--for=condition=Ready", "--timeout=5s", "node/" + realNode},
		// A run that was killed may have left it.
		[]string{"kubectl", "delete", "--ignore-not-found", "-f", "artifacts/deployment.yaml", "-f", "artifacts/networkpolicy.yaml"},
		withoutWebhooks,
		[]string{"kubectl", "apply", "--server-side=false", "-f", "artifacts/crd.yaml", "-f", "artifacts/rbac.yaml", "-f", "artifacts/policy.yaml"},
		// kubectl wait fails on a CRD that is so new that it has no conditions at all.
		[]string{"bash", "-c", "for try in {1..100}; do kubectl get podmanagers >/dev/null && exit; sleep 0.2; done; exit 1"},
	)
	if err := errors.Join(err, <-built); err != nil {
		return err
	}
	if err := writeKubeconfig(config); err != nil {
		return err
	}
	return startController()
}

// runCommands runs commands in the root of the project, one after the other, until one fails.
func runCommands(commands ...[]string) error {
	for _, command := range commands {
		run := exec.Command(command[0], command[1:]...)
		run.Dir = root
		if out, err := run.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", command, err, out)
		}
	}
	return nil
}

// kubeconfig is the controller's file.
func kubeconfig() string { return filepath.Join(shared.folder, "controller.kubeconfig") }

// writeKubeconfig makes a kubeconfig with a token of the controller's ServiceAccount.
func writeKubeconfig(admin *rest.Config) error {
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
	return clientcmd.WriteToFile(*config, kubeconfig())
}

// startController starts it and waits until its workers have started. Each process has a log of its own.
func startController() error {
	log, err := os.CreateTemp(shared.folder, "controller-*.log")
	if err != nil {
		return err
	}
	defer log.Close()
	shared.controller = exec.Command(shared.folder+"/controller", "-kubeconfig", kubeconfig(), "-v", "4",
		"-metrics-bind-address", "127.0.0.1:0", "-health-probe-bind-address", "127.0.0.1:0")
	shared.controller.Stdout, shared.controller.Stderr = log, log
	shared.controller.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // also if the tests are killed
	if err := shared.controller.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if data, err := os.ReadFile(log.Name()); err == nil && strings.Contains(string(data), "Starting workers") {
			return nil
		}
	}
	return errors.Join(errors.New("the controller did not start; its log is "+log.Name()), shared.controller.Process.Kill())
}

// stopController stops it as a cluster would, and waits for its end.
func stopController() error {
	_ = shared.controller.Process.Signal(syscall.SIGTERM)
	if err := shared.controller.Wait(); err != nil {
		return fmt.Errorf("the controller did not stop cleanly: %w", err)
	}
	return nil
}

// withoutController stops the controller that all tests share, until a test that runs alone is over.
func withoutController(t *testing.T) {
	t.Helper()
	if err := stopController(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := startController(); err != nil {
			t.Fatal(err)
		}
	})
}

// client asks pods: each request is a connection of its own, since the container behind an address changes. The controller's certificate
// is self-signed.
var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
	DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
}}
