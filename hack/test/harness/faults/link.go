package faults

import (
	"io"
	"net"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
)

// Link forwards bytes to an API server, and can go dead: connections stay open, but nothing gets through. An HTTP/2 proxy cannot go dead like that,
// because it answers the client's pings itself.
type Link struct {
	listener net.Listener
	target   string
	// write writes the kubeconfig given to StartLink, with the address of the link.
	write func(file string) error

	mu     sync.Mutex
	dead   chan struct{} // closed when the link is revived; nil while it is alive
	open   map[*connection]bool
	opened int
}

// connection is a client's connection through the link.
type connection struct {
	link           *Link
	client, server net.Conn
	severed        bool // forever; guarded by the link's lock
}

// StartLink starts a link on a free port of 127.0.0.1, in front of the API server of a kubeconfig file.
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
	l := &Link{target: target, open: map[*connection]bool{}, write: func(file string) error { return clientcmd.WriteToFile(*config, file) }}
	if l.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	cluster.Server = "https://" + l.listener.Addr().String()
	go l.accept()
	return l, nil
}

// WriteKubeconfig writes a kubeconfig that points to the link.
func (l *Link) WriteKubeconfig(file string) error { return l.write(file) }

// Close stops accepting connections, and breaks the open ones.
func (l *Link) Close() error {
	err := l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		c.client.Close()
		c.server.Close()
	}
	return err
}

// Opened returns how many connections clients have opened so far, including those while the link was dead.
func (l *Link) Opened() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// Die holds back the bytes of all connections, old and new, in both directions, until revive is called.
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

// Sever makes the open connections dead forever, and returns how many there were. New connections work. A firewall that has lost its connection
// table does the same.
func (l *Link) Sever() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		c.severed = true
	}
	return len(l.open)
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
		l.mu.Lock()
		l.opened++
		l.mu.Unlock()
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
	c := &connection{link: l, client: client, server: server}
	l.mu.Lock()
	l.open[c] = true
	l.mu.Unlock()
	var passing sync.WaitGroup
	passing.Go(func() { c.pass(server, client) })
	passing.Go(func() { c.pass(client, server) })
	passing.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
}

// pass forwards bytes until their source ends. It closes the other side only if the link lets bytes through.
func (c *connection) pass(to, from net.Conn) {
	_, _ = io.Copy(gate{c, to}, from) // an error means that the source has ended
	from.Close()
	if c.waitAlive() {
		to.Close()
	}
}

// waitAlive waits until the link is alive. It reports false if this connection is severed.
func (c *connection) waitAlive() bool {
	c.link.waitAlive()
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	return !c.severed
}

// gate forwards bytes while the link is alive. The bytes of a severed connection are lost.
type gate struct {
	connection *connection
	to         io.Writer
}

func (g gate) Write(data []byte) (int, error) {
	if !g.connection.waitAlive() {
		return len(data), nil
	}
	return g.to.Write(data)
}
