package serve

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// connections limits how many connections a server has at a time. A connection is pending while the server waits for its client: it is new or
// idle, or its request is not fully read. If there is one connection too many, the one that has been pending longest is closed. So a client that
// sends nothing, or sends slowly, does not lock out other clients, and a request that was fully read is always answered.
type connections struct {
	most int

	mu sync.Mutex
	// open holds all connections with their elements in pending. The element is nil while the server answers a request.
	open map[net.Conn]*list.Element
	// pending is ordered by the time at which a connection became pending, or sent a complete header.
	pending *list.List
}

func newConnections(most int) *connections {
	return &connections{most: most, open: map[net.Conn]*list.Element{}, pending: list.New()}
}

// changed is a hook for http.Server.ConnState.
func (c *connections) changed(connection net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place, isOpen := c.open[connection]
	if place != nil {
		c.pending.Remove(place)
	}
	switch {
	case state == http.StateClosed || state == http.StateHijacked:
		delete(c.open, connection)
	case isOpen || state == http.StateNew: // otherwise closeOldest has closed it, and the server has yet to notice
		c.open[connection] = c.pending.PushBack(connection)
	}
	if len(c.open) > c.most {
		c.closeOldest()
	}
}

// closeOldest closes the connection that has been pending longest. If all others are being answered, that is the newest connection.
func (c *connections) closeOldest() {
	connection := c.pending.Remove(c.pending.Front()).(net.Conn)
	delete(c.open, connection)
	if encrypted, ok := connection.(*tls.Conn); ok {
		connection = encrypted.NetConn() // closing TLS sends an alert first, which blocks if the client does not read
	}
	_ = connection.Close()
}

// answering removes a connection from the pending ones until it is idle.
func (c *connections) answering(connection net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if place := c.open[connection]; place != nil {
		c.pending.Remove(place)
		c.open[connection] = nil
	}
}

// connectionKey is the context key of a request's connection.
type connectionKey struct{}

// remember is a hook for http.Server.ConnContext.
func remember(ctx context.Context, connection net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, connection)
}

// watch wraps a handler to detect when a request was fully read.
func (c *connections) watch(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection, _ := r.Context().Value(connectionKey{}).(net.Conn)
		if r.Body == http.NoBody {
			c.answering(connection)
		} else {
			body := &watchedBody{ReadCloser: r.Body, ended: func() { c.answering(connection) }}
			r = r.WithContext(r.Context()) // a copy: the server keeps using the original body
			r.Body = body
		}
		handler.ServeHTTP(w, r)
	})
}

// watchedBody calls ended once the body was fully read.
type watchedBody struct {
	io.ReadCloser
	ended func()
}

func (b *watchedBody) Read(buffer []byte) (int, error) {
	n, err := b.ReadCloser.Read(buffer)
	if errors.Is(err, io.EOF) {
		b.ended()
	}
	return n, err
}
