package lab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

const (
	ourSpace, ourAccount   = "podmanager-system", "podmanager-controller"
	peerSpace, peerAccount = "kube-system", "peer-controller"
)

var processes atomic.Int32

// log is the file for the next process.
func (c *Cluster) log(name string) string {
	return filepath.Join(c.Folder, fmt.Sprintf("%s-%d.log", name, processes.Add(1)))
}

// StartOurs starts our controller without limits on requests, and waits until its caches are filled. Later flags win.
func (c *Cluster) StartOurs(ctx context.Context, flags ...string) (*Process, error) {
	p, health, err := c.LaunchOurs(flags...)
	if err != nil {
		return nil, err
	}
	return p, p.await(ctx, health)
}

// LaunchOurs does not wait: under some faults it never becomes ready. What is returned besides tells whether it is.
func (c *Cluster) LaunchOurs(flags ...string) (p *Process, ready func() bool, err error) {
	metrics, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	health, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	command := append([]string{c.controller, "-kubeconfig", c.OurKubeconfig, "-kube-api-qps", "5000", "-kube-api-burst", "10000",
		"-metrics-bind-address", metrics, "-health-probe-bind-address", health}, flags...)
	if p, err = start(c.log("podmanager"), command...); err != nil {
		return nil, nil, err
	}
	p.Metrics = metrics
	client := http.Client{Timeout: time.Second}
	return p, func() bool {
		response, err := client.Get("http://" + health + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, nil
}

// StartPeer starts a kube-controller-manager with nothing but these controllers, such as replicaset-controller, and
// waits until their caches are filled.
func (c *Cluster) StartPeer(ctx context.Context, controllers []string, flags ...string) (*Process, error) {
	p, ready, err := c.LaunchPeer(controllers, flags...)
	if err != nil {
		return nil, err
	}
	return p, p.await(ctx, ready)
}

// LaunchPeer does not wait.
func (c *Cluster) LaunchPeer(controllers []string, flags ...string) (p *Process, ready func() bool, err error) {
	command := append([]string{filepath.Join(c.bin, "kube-controller-manager"), "--kubeconfig", c.PeerKubeconfig,
		"--kube-api-qps", "5000", "--kube-api-burst", "10000", "--controllers", strings.Join(controllers, ","),
		"--leader-elect=false", "--secure-port=0"}, flags...)
	if p, err = start(c.log("peer"), command...); err != nil {
		return nil, nil, err
	}
	return p, func() bool {
		// It has no address to ask: that would need certificates. It tells in its log.
		data, _ := os.ReadFile(p.Log)
		return strings.Count(string(data), "Caches are synced") >= len(controllers)
	}, nil
}

// freeAddress finds one that nobody listens on.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
