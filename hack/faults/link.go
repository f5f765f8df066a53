package faults

import (
	"io"
	"net"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
)

// Link passes bytes on to an API server, and can go dead: connections stay open, and nothing comes through. A proxy that
// speaks HTTP/2 cannot do that, since it answers the client's pings itself.
type Link struct {
	listener net.Listener
	target   string
	// config is the kubeconfig it was made from, turned to the link.
	write func(file string) error

	mu   sync.Mutex
	dead chan struct{} // closed when the link comes alive again; nil while it is alive
}

// StartLink starts one on a free port of 127.0.0.1, in front of the API server of a kubeconfig file.
func StartLink(kubeconfig string) (*Link, error) {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	target, err := hostOf(cluster.Server)
	if err != nil {
		return nil, err
	}
	l := &Link{target: target, write: func(file string) error { return clientcmd.WriteToFile(*config, file) }}
	if l.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	cluster.Server = "https://" + l.listener.Addr().String()
	go l.accept()
	return l, nil
}

// WriteKubeconfig writes a kubeconfig that leads through the link.
func (l *Link) WriteKubeconfig(file string) error { return l.write(file) }

// Close takes no more connections.
func (l *Link) Close() error { return l.listener.Close() }

// Die holds back all bytes, both ways, also those of connections that are opened now, until what it returns is called.
func (l *Link) Die() (revive func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = make(chan struct{})
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(l.dead)
		l.dead = nil
	})
}

// waitAlive returns once bytes may pass.
func (l *Link) waitAlive() {
	l.mu.Lock()
	dead := l.dead
	l.mu.Unlock()
	if dead != nil {
		<-dead
	}
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		go l.join(client)
	}
}

func (l *Link) join(client net.Conn) {
	l.waitAlive()
	server, err := net.Dial("tcp", l.target)
	if err != nil {
		client.Close()
		return
	}
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			defer client.Close()
			defer server.Close()
			_, _ = io.Copy(gate{l, pair[0]}, pair[1]) // it ends with the connection
		}()
	}
}

// gate lets bytes pass while the link is alive.
type gate struct {
	link *Link
	to   io.Writer
}

func (g gate) Write(data []byte) (int, error) {
	g.link.waitAlive()
	return g.to.Write(data)
}
