package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

const (
	ourSpace, ourAccount   = "podmanager-system", "podmanager-controller"
	peerSpace, peerAccount = "kube-system", "peer-controller"
)

var processes atomic.Int32

// WithController returns a copy of the cluster that starts another program as our controller.
func (c *Cluster) WithController(program string) *Cluster {
	other := *c
	other.controller = program
	return &other
}

// log returns the log file for the next process.
func (c *Cluster) log(name string) string {
	return filepath.Join(c.Folder, fmt.Sprintf("%s-%d.log", name, processes.Add(1)))
}

// Start starts our controller and waits until its caches are filled.
func (c *Cluster) Start(ctx context.Context, name string, flags ...string) (*Process, error) {
	p, err := c.Launch(name, flags...)
	if err != nil {
		return nil, err
	}
	return p, p.Await(ctx, p.isReady)
}

// Launch starts our controller without waiting, because under some faults it never becomes ready. Later flags win. name is the prefix of the log
// file's name.
func (c *Cluster) Launch(name string, flags ...string) (*Process, error) {
	metrics, health, err := FreeAddresses()
	if err != nil {
		return nil, err
	}
	command := append([]string{c.controller, "-kubeconfig", c.OurKubeconfig,
		"-metrics-bind-address", metrics, "-health-probe-bind-address", health}, flags...)
	p, err := StartProgram(c.log(name), command...)
	if err != nil {
		return nil, err
	}
	p.Metrics, p.health = metrics, health
	return p, nil
}

func (p *Process) isReady() bool {
	_, err := p.Ready()
	return err == nil
}

// LaunchOurs launches our controller without limits on requests. ready reports whether it is ready.
func (c *Cluster) LaunchOurs(flags ...string) (p *Process, ready func() bool, err error) {
	p, err = c.Launch("podmanager", append([]string{"-kube-api-qps", "5000", "-kube-api-burst", "10000"}, flags...)...)
	if err != nil {
		return nil, nil, err
	}
	return p, p.isReady, nil
}

// LaunchPeer launches a kube-controller-manager with only these controllers, such as replicaset-controller. It is ready when their caches are
// filled.
func (c *Cluster) LaunchPeer(controllers []string, flags ...string) (p *Process, ready func() bool, err error) {
	command := append([]string{filepath.Join(c.bin, "kube-controller-manager"), "--kubeconfig", c.PeerKubeconfig,
		"--kube-api-qps", "5000", "--kube-api-burst", "10000", "--controllers", strings.Join(controllers, ","),
		"--leader-elect=false", "--secure-port=0"}, flags...)
	if p, err = StartProgram(c.log("peer"), command...); err != nil {
		return nil, nil, err
	}
	return p, func() bool {
		// The log shows when it is ready, because an address for health checks would need certificates.
		data, _ := os.ReadFile(p.Log)
		return strings.Count(string(data), "Caches are synced") >= len(controllers)
	}, nil
}

// The ports of FreeAddresses are below the kernel's ephemeral port range. Otherwise a connection could take a port before a program listens on it.
const firstPort, ports = 20000, 10000

// lastPort cycles through the ports, so that no two programs of a suite get the same one. Another suite starts at another port.
var lastPort, beginning = atomic.Uint32{}, rand.Uint32N(ports)

// FreeAddresses returns two addresses on which no program listens.
func FreeAddresses() (first, second string, err error) {
	for _, address := range []*string{&first, &second} {
		for tries := 0; *address == "" && tries < 100; tries++ {
			candidate := fmt.Sprint("127.0.0.1:", firstPort+(beginning+lastPort.Add(1))%ports)
			var listener net.Listener
			if listener, err = net.Listen("tcp", candidate); err == nil {
				listener.Close()
				*address = candidate
			}
		}
	}
	return first, second, err
}
