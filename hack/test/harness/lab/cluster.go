package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
)

const (
	script     = "hack/cluster/cluster.sh"
	nodeScript = "hack/cluster/node/node.sh"
)

// Cluster is a control plane with our CRD, our controller's program, and accounts for controllers.
type Cluster struct {
	Name string
	// Folder has the logs, kubeconfigs and programs of the run.
	Folder string
	// Programs is the folder of our programs: the controller and kubectl-podmanager.
	Programs string
	// Config has administrator permissions, and no limit on requests.
	Config   *rest.Config
	Kube     kubernetes.Interface
	Managers versioned.Interface
	// Kubeconfig has administrator permissions. OurKubeconfig has the permissions of the ServiceAccount of artifacts/rbac.yaml, PeerKubeconfig
	// those of a ServiceAccount that may do everything. The last two use tokens, because a proxy cannot forward client certificates.
	Kubeconfig, OurKubeconfig, PeerKubeconfig string
	// AuditLog has one line of JSON for each request.
	AuditLog string
	// bin is the folder of kubectl and the control plane's programs; empty if they are on the PATH. home has the state of the cluster.
	bin, home string
	// controller is the path of our controller's program.
	controller string
	// settings are more variables of the environment of cluster.sh.
	settings []string
	// killed are the components that Repair restarts.
	killed []*component
}

// Up creates a cluster for a campaign, installs our CRD, RBAC and policies, and creates an account for the controllers of Kubernetes.
func Up(ctx context.Context, name, folder string) (*Cluster, error) {
	c, err := Create(ctx, name, folder)
	if err != nil {
		return nil, err
	}
	if err := c.install(ctx); err != nil {
		return nil, errors.Join(err, c.Down())
	}
	if err := c.installPeer(ctx); err != nil {
		return nil, errors.Join(err, c.Down())
	}
	return c, nil
}

// Attach uses a cluster that is already running and that outlives the tests. It installs our CRD, RBAC and policies. programs is the folder of our
// programs; if it is empty, Attach builds them.
func Attach(ctx context.Context, kubeconfig, folder, programs string) (*Cluster, error) {
	c := &Cluster{Folder: folder, Kubeconfig: kubeconfig, Programs: programs}
	if err := c.connect(); err != nil {
		return nil, err
	}
	return c, c.install(ctx)
}

// Create starts a new cluster without the controllers of ReplicaSets and Deployments. It installs nothing. The cluster belongs to this process: if
// this process ends without calling Down, the next test run or campaign takes the cluster down, as Create does with leftover clusters. settings are
// more variables for cluster.sh, such as FEATURE_GATES=HPAScaleToZero=true.
func Create(ctx context.Context, name, folder string, settings ...string) (*Cluster, error) {
	c := &Cluster{Name: name, Folder: folder, settings: settings}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	if _, err := c.script(ctx, "reap"); err != nil {
		return nil, err
	}
	if err := c.Down(); err != nil {
		return nil, err
	}
	if _, err := c.script(ctx, "up"); err != nil {
		return nil, err // a cluster that did not start is kept for inspection
	}
	if err := c.locate(ctx); err != nil {
		return nil, errors.Join(err, c.Down())
	}
	return c, nil
}

// locate finds the files of the cluster, and connects to it.
func (c *Cluster) locate(ctx context.Context) error {
	for command, field := range map[string]*string{"kubeconfig": &c.Kubeconfig, "audit-log": &c.AuditLog, "bin": &c.bin} {
		out, err := c.script(ctx, command)
		if err != nil {
			return err
		}
		*field = strings.TrimSpace(out)
	}
	c.home = filepath.Dir(filepath.Dir(c.AuditLog))
	return c.connect()
}

// Keep makes the cluster outlive this process.
func (c *Cluster) Keep() error { return os.Remove(filepath.Join(c.home, "owner")) }

// CheckRealNode checks whether this machine can run a real node, which NODE=real in the environment requests. The error says what is missing.
func CheckRealNode(ctx context.Context) error {
	if out, err := exec.CommandContext(ctx, nodeScript, "check").CombinedOutput(); err != nil {
		return fmt.Errorf("NODE=real: %w\n%s", err, out)
	}
	return nil
}

// Down stops the cluster and deletes its data.
func (c *Cluster) Down() error {
	_, err := c.script(context.Background(), "down")
	return err
}

func (c *Cluster) script(ctx context.Context, command string) (string, error) {
	run := exec.CommandContext(ctx, script, command, c.Name)
	run.Env = slices.Concat(os.Environ(), []string{"CAMPAIGN=1", "OWNER=" + strconv.Itoa(os.Getpid())}, c.settings)
	run.Cancel = func() error { return run.Process.Signal(syscall.SIGTERM) } // the script cleans up
	stderr := &strings.Builder{}
	run.Stderr = stderr
	if command == "up" || command == "reap" {
		run.Stderr = os.Stderr // the first run reports that it builds the control plane for minutes, and reap names the clusters that it takes down
	}
	out, err := run.Output()
	if err != nil {
		return "", fmt.Errorf("cluster.sh %s %s: %w\n%s%s", command, c.Name, err, out, stderr)
	}
	return string(out), nil
}

func (c *Cluster) connect() error {
	var err error
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return err
	}
	c.Config.QPS = -1
	// The certificate is read once. A client of a deleted cluster would repeatedly look for the file, and log errors.
	if err := rest.LoadTLSFiles(c.Config); err != nil {
		return err
	}
	c.Config.CertFile, c.Config.KeyFile, c.Config.CAFile = "", "", ""
	if c.Kube, err = kubernetes.NewForConfig(c.Config); err != nil {
		return err
	}
	c.Managers, err = versioned.NewForConfig(c.Config)
	return err
}

// Kubectl runs kubectl as the administrator.
func (c *Cluster) Kubectl(ctx context.Context, arguments ...string) (string, error) {
	return c.KubectlWith(ctx, "", arguments...)
}

// KubectlWith runs kubectl with a standard input, for -f -.
func (c *Cluster) KubectlWith(ctx context.Context, input string, arguments ...string) (string, error) {
	run := exec.CommandContext(ctx, filepath.Join(c.bin, "kubectl"), append([]string{"--kubeconfig", c.Kubeconfig}, arguments...)...)
	run.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(c.Folder, "kubectl"))
	run.Stdin = strings.NewReader(input)
	out, err := run.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(arguments, " "), err, out)
	}
	return string(out), nil
}

// install builds our programs unless they are given, applies our RBAC, CRD and policies, and writes our kubeconfig.
func (c *Cluster) install(ctx context.Context) error {
	if c.Programs == "" {
		c.Programs = c.Folder
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", c.Folder+"/", "./cmd/...").CombinedOutput(); err != nil {
			return fmt.Errorf("go build ./cmd/...: %w\n%s", err, out)
		}
	}
	c.controller = filepath.Join(c.Programs, "controller")
	if _, err := c.Kubectl(ctx, "apply", "-f", "artifacts/rbac.yaml"); err != nil {
		return err
	}
	if err := c.InstallCRD(ctx); err != nil {
		return err
	}
	if _, err := c.Kubectl(ctx, "apply", "-f", "artifacts/policy.yaml"); err != nil {
		return err
	}
	var err error
	c.OurKubeconfig, err = c.writeKubeconfig(ctx, ourSpace, ourAccount)
	return err
}

func (c *Cluster) installPeer(ctx context.Context) error {
	for _, arguments := range [][]string{
		{"create", "serviceaccount", peerAccount, "--namespace", peerSpace},
		{"create", "clusterrolebinding", peerAccount, "--clusterrole=cluster-admin", "--serviceaccount=" + peerSpace + ":" + peerAccount},
	} {
		if _, err := c.Kubectl(ctx, arguments...); err != nil {
			return err
		}
	}
	var err error
	c.PeerKubeconfig, err = c.writeKubeconfig(ctx, peerSpace, peerAccount)
	return err
}

// InstallCRD applies the CRD, and waits until the API server serves PodManagers. (kubectl wait fails on a new CRD that has no
// conditions yet.)
func (c *Cluster) InstallCRD(ctx context.Context) error {
	if _, err := c.Kubectl(ctx, "apply", "-f", "artifacts/crd.yaml"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		_, err := c.Kubectl(ctx, "get", "podmanagers")
		if err == nil {
			return nil
		}
		if !Pause(ctx, 200*time.Millisecond) {
			return fmt.Errorf("PodManagers are not served: %w", err)
		}
	}
}

// writeKubeconfig writes a kubeconfig with a token of a ServiceAccount.
func (c *Cluster) writeKubeconfig(ctx context.Context, namespace, account string) (string, error) {
	token, err := c.Kubectl(ctx, "create", "token", account, "--namespace", namespace, "--duration", "12h")
	if err != nil {
		return "", err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{
		Server: c.Config.Host, CertificateAuthority: c.Config.CAFile, CertificateAuthorityData: c.Config.CAData,
	}
	config.AuthInfos["account"] = &clientcmdapi.AuthInfo{Token: strings.TrimSpace(token)}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "account"}
	config.CurrentContext = "lab"
	file := filepath.Join(c.Folder, account+".kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}

// LogFolder creates a folder for the logs of a test suite. cluster.sh removes all but the newest ones.
func LogFolder(suite string) (string, error) {
	out, err := exec.Command(script, "logs", suite).Output()
	if err != nil {
		return "", fmt.Errorf("cluster.sh logs %s: %w", suite, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Pause waits for the given time. It reports false if ctx is done.
func Pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
