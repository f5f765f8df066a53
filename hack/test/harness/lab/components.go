package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness/faults"
)

// The components of a cluster that can be killed, in the order in which they start.
const (
	Etcd      = "etcd"
	APIServer = "kube-apiserver"
	Scheduler = "kube-scheduler"
	Nodes     = "kwok-controller" // simulates all nodes
)

// component is a process of the control plane, and how to restart it.
type component struct {
	name      string
	pid       int
	arguments []string
	folder    string
}

// find finds the process of a component. The PID file alone is not enough: the process must be this component of this cluster.
func (c *Cluster) find(name string) (*component, error) {
	data, err := os.ReadFile(c.pidFile(name))
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return nil, err
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.HasPrefix(string(line), filepath.Join(c.home, "bin", name)+"\x00") {
		return nil, fmt.Errorf("%s of cluster %s is not running", name, c.Name)
	}
	folder, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return nil, err
	}
	return &component{name, pid, strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), folder}, nil
}

func (c *Cluster) pidFile(name string) string { return filepath.Join(c.home, "pids", name+".pid") }

func (c *Cluster) logFile(name string) string { return filepath.Join(c.home, "logs", name+".log") }

// Signal sends a signal to a component of the cluster. After SIGKILL the component is down until Repair is called.
func (c *Cluster) Signal(name string, signal syscall.Signal) error {
	found, err := c.find(name)
	if err != nil {
		return err
	}
	if err := syscall.Kill(found.pid, signal); err != nil || signal != syscall.SIGKILL {
		return err
	}
	c.killed = append(c.killed, found)
	for {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", found.pid))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH), strings.Contains(string(state), ") Z "):
			return nil
		case err != nil:
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// SetClock shifts the wall clock of a component by an offset.
func (c *Cluster) SetClock(name string, offset time.Duration) error {
	found, err := c.find(name)
	if err != nil {
		return err
	}
	return faults.SetClock(found.pid, offset)
}

// Repair restarts the killed components: first etcd and the API server, and the others once the API server is ready. (kwokctl could do this, but
// takes longer, and gives up on a busy machine.)
func (c *Cluster) Repair(ctx context.Context) error {
	needed := slices.DeleteFunc(slices.Clone(c.killed), func(dead *component) bool { return dead.name != Etcd && dead.name != APIServer })
	for _, name := range []string{Etcd, APIServer} {
		if err := c.reviveAll(func(dead *component) bool { return dead.name == name }); err != nil {
			return err
		}
	}
	if err := c.awaitReady(ctx, needed); err != nil {
		return err
	}
	if slices.ContainsFunc(c.killed, func(dead *component) bool { return dead.name == Nodes }) {
		// For minutes, the Leases of the nodes name the killed process as their holder. The new process could not take the nodes over until then.
		leases := c.Kube.CoordinationV1().Leases(corev1.NamespaceNodeLease)
		if err := leases.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	return c.reviveAll(func(*component) bool { return true })
}

func (c *Cluster) reviveAll(chosen func(*component) bool) error {
	for _, dead := range c.killed {
		if !chosen(dead) {
			continue
		}
		if err := c.revive(dead); err != nil {
			return err
		}
	}
	c.killed = slices.DeleteFunc(c.killed, chosen)
	return nil
}

// awaitReady waits for the API server. On a busy machine the API server may give up before etcd is up, so awaitReady restarts components that have
// ended.
func (c *Cluster) awaitReady(ctx context.Context, needed []*component) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		_, err := c.Kube.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Raw()
		if err == nil {
			return nil
		}
		for _, each := range needed {
			if _, ended := c.find(each.name); ended == nil {
				continue
			}
			if err := c.revive(each); err != nil {
				return err
			}
		}
		if !Pause(ctx, 100*time.Millisecond) {
			// Include the log, because it is deleted with the cluster.
			return fmt.Errorf("the API server does not become ready: %w\n%s", err, tail(c.logFile(APIServer), 20))
		}
	}
}

// revive starts a component with its old command line, and writes its PID file, so that cluster.sh finds the process.
func (c *Cluster) revive(dead *component) error {
	log, err := os.OpenFile(c.logFile(dead.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(dead.arguments[0], dead.arguments[1:]...)
	command.Dir, command.Stdout, command.Stderr = dead.folder, log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interrupt reaches only the campaign, which takes the cluster down
	if err := command.Start(); err != nil {
		return err
	}
	go func() { _ = command.Wait() }() // otherwise the process would remain a zombie after the next kill
	return os.WriteFile(c.pidFile(dead.name), []byte(strconv.Itoa(command.Process.Pid)), 0o644)
}
