package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"k8s.io/klog/v2/ktesting"
)

// patience is the timeout for events that should happen soon.
const patience = 30 * time.Second

// Every server limits its connections by default. Above the limit, the oldest connections that send nothing are closed, and a client that sends a
// request is answered.
func TestConnectionsAreBounded(t *testing.T) {
	_, ctx := ktesting.NewTestContext(t)
	server, err := Listen("test", "flag", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Start(ctx, Health(nil, nil))
	defer server.ShutDown(context.WithoutCancel(ctx))
	closed := make(chan int, 3*maxConnections)
	for i := range 3 * maxConnections {
		connection, err := net.Dial("tcp", server.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if i%2 == 0 {
			if _, err := io.WriteString(connection, "GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{"); err != nil {
				t.Fatal(err)
			}
		}
		go func() {
			_, _ = io.Copy(io.Discard, connection)
			closed <- i
		}()
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	for range 20 {
		response, err := client.Get("http://" + server.Address() + "/livez")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	late := time.After(patience)
	for i := range 2 * maxConnections {
		select {
		case <-closed:
		case <-late:
			t.Fatalf("%d of %d connections are closed, want all but %d", i, 3*maxConnections, maxConnections)
		}
	}
}

// A connection that is being answered is never closed. The newest connection is closed only if all others are being answered.
func TestAnsweredConnectionsStay(t *testing.T) {
	c := newConnections(2)
	connect := func() (client, server net.Conn) {
		client, server = net.Pipe()
		t.Cleanup(func() { client.Close() })
		c.changed(server, http.StateNew)
		return client, server
	}
	isOpen := func(client net.Conn) bool {
		return client.SetReadDeadline(time.Time{}) == nil // a pipe whose other end is closed refuses a deadline
	}
	first, firstServer := connect()
	second, secondServer := connect()
	c.changed(firstServer, http.StateActive)
	c.answering(firstServer)
	third, thirdServer := connect() // the second has been pending longest
	if !isOpen(first) || isOpen(second) || !isOpen(third) {
		t.Errorf("the connections are open: %t, %t, %t; want only the second to be closed", isOpen(first), isOpen(second), isOpen(third))
	}
	c.changed(secondServer, http.StateActive) // its request came at the same time: it does not count any more
	c.changed(secondServer, http.StateClosed)
	c.changed(thirdServer, http.StateActive)
	c.answering(thirdServer)
	if fourth, _ := connect(); isOpen(fourth) || !isOpen(first) || !isOpen(third) {
		t.Error("a connection that is being answered was closed, or the fourth connection was not")
	}
	c.changed(firstServer, http.StateIdle)
	if fifth, _ := connect(); !isOpen(fifth) || isOpen(first) || !isOpen(third) {
		t.Error("the idle connection was not closed in favour of a new one")
	}
}
