package faults

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// newLink returns a link to a server that sends every line back.
func newLink(t *testing.T) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				for lines := bufio.NewScanner(client); lines.Scan(); {
					fmt.Fprintln(client, lines.Text())
				}
			}()
		}
	}()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://" + listener.Addr().String()}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "x"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	link, err := StartLink(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { link.Close() })
	return link
}

// caller is a client of the server behind the link. The channel is closed when the connection is.
type caller struct {
	net.Conn
	lines chan string
}

func call(t *testing.T, link *Link) *caller {
	t.Helper()
	file := filepath.Join(t.TempDir(), "linked")
	if err := link.WriteKubeconfig(file); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	address, err := hostOf(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	c := &caller{connection, make(chan string, 100)}
	go func() {
		defer close(c.lines)
		for lines := bufio.NewScanner(connection); lines.Scan(); {
			c.lines <- lines.Text()
		}
	}()
	return c
}

func (c *caller) say(t *testing.T, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(c, line); err != nil {
		t.Fatal(err)
	}
}

func TestLinkPassesBytes(t *testing.T) {
	link := newLink(t)
	c := call(t, link)
	c.say(t, "hello")
	expect(t, c.lines, "hello")
	if got := link.Opened(); got != 1 {
		t.Errorf("%d connections", got)
	}
}

func TestLinkDiesAndRevives(t *testing.T) {
	link := newLink(t)
	old := call(t, link)
	old.say(t, "before")
	expect(t, old.lines, "before")
	revive := link.Die()
	old.say(t, "during")
	expectNothing(t, old.lines)
	fresh := call(t, link)
	fresh.say(t, "during, too")
	expectNothing(t, fresh.lines)
	if got := link.Opened(); got != 2 {
		t.Errorf("%d connections, want 2: a connection that is opened while the link is dead counts", got)
	}
	revive()
	expect(t, old.lines, "during")
	expect(t, fresh.lines, "during, too")
}

func TestLinkSevered(t *testing.T) {
	link := newLink(t)
	old := call(t, link)
	old.say(t, "before")
	expect(t, old.lines, "before")
	if got := link.Sever(); got != 1 {
		t.Errorf("%d connections were severed, want 1", got)
	}
	old.say(t, "lost")
	fresh := call(t, link)
	fresh.say(t, "after")
	expect(t, fresh.lines, "after")
	revive := link.Die() // when the link is alive again, the old connection stays dead
	revive()
	old.say(t, "lost, too")
	expectNothing(t, old.lines)
	fresh.say(t, "still there")
	expect(t, fresh.lines, "still there")
	if err := link.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, old.lines, "") // closed
	expect(t, fresh.lines, "")
}

// While the link is dead, one side does not notice that the other has closed the connection.
func TestLinkHoldsBackTheEnd(t *testing.T) {
	link := newLink(t)
	c := call(t, link)
	c.say(t, "before")
	expect(t, c.lines, "before")
	link.mu.Lock()
	var server net.Conn
	for open := range link.open {
		server = open.server
	}
	link.mu.Unlock()
	revive := link.Die()
	if err := server.SetReadDeadline(time.Now()); err != nil { // as if the server had closed the connection
		t.Fatal(err)
	}
	expectNothing(t, c.lines)
	revive()
	expect(t, c.lines, "")
}
