package serve

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// connections bounds how many connections a server has at a time. When there is one too many, the one that has waited for longest without
// a request under way is closed; only if all are busy, it is the new one. To leave new connections waiting instead, until others end, would
// let a stranger with many idle ones keep everybody else out.
type connections struct {
	most int

	mu sync.Mutex
	// turn counts the changes; waiting and busy have the turn at which a connection became so.
	turn          int
	waiting, busy map[net.Conn]int
}

func newConnections(most int) *connections {
	return &connections{most: most, waiting: map[net.Conn]int{}, busy: map[net.Conn]int{}}
}

// changed is for http.Server.ConnState.
func (c *connections) changed(connection net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	delete(c.waiting, connection)
	delete(c.busy, connection)
	switch state {
	case http.StateNew, http.StateIdle:
		c.waiting[connection] = c.turn
	case http.StateActive:
		c.busy[connection] = c.turn
	}
	if len(c.waiting)+len(c.busy) > c.most {
		c.closeOne()
	}
}

// closeOne closes the connection that has waited for longest. The server notices, and tells that it is closed.
func (c *connections) closeOne() {
	var chosen net.Conn
	for connection, since := range c.waiting {
		if chosen == nil || since < c.waiting[chosen] {
			chosen = connection
		}
	}
	if chosen == nil {
		return // all are busy: no connection has just been made, or it would wait
	}
	delete(c.waiting, chosen)
	if encrypted, ok := chosen.(*tls.Conn); ok {
		chosen = encrypted.NetConn() // closing TLS says goodbye first, and a client that does not read makes it wait for that
	}
	_ = chosen.Close()
}
