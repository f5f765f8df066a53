package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// shutdownTimeout is how long a running scrape may take when the process ends.
const shutdownTimeout = time.Second

// Limits limit the resources that clients can use.
type Limits struct {
	// Header, Body and Answer limit the time that a client may take to connect and send a header, to send the complete request, and to read the
	// complete response. Idle is how long a connection stays open between two requests.
	Header, Body, Answer, Idle time.Duration
	// Connections is the maximum number of connections at a time.
	Connections int
	// ShutDown is how long requests in progress may take when the process ends.
	ShutDown time.Duration
}

// maxConnections is the default limit of connections, unless Bound sets another: more than a few scrapers and the kubelet need.
const maxConnections = 100

// Off is the bind address that turns a server off.
const Off = "0"

// Server is an HTTP server that already listens, so that an address in use is detected before anything is served.
type Server struct {
	name        string
	http        *http.Server
	listener    net.Listener
	connections *connections
	shutDown    time.Duration
}

// Listen listens on the address of the flag flagName. It returns nil for Off.
func Listen(name, flagName, address string) (*Server, error) {
	if address == Off {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve %s: %w; choose another address with -%s, or 0 for none", name, err, flagName)
	}
	return &Server{
		name:        name,
		listener:    listener,
		connections: newConnections(maxConnections),
		shutDown:    shutdownTimeout,
		http: &http.Server{
			ReadHeaderTimeout: 10 * time.Second,
			WriteTimeout:      time.Minute, // frees the connection of a client that does not read the response
			IdleTimeout:       90 * time.Second,
			MaxHeaderBytes:    32 << 10, // a token has a few KB
			ErrorLog:          log.New(&sparingLog{name: name}, "", 0),
		},
	}, nil
}

// Bound replaces the default limits of Listen.
func (s *Server) Bound(limits Limits) {
	if s == nil {
		return
	}
	s.http.ReadHeaderTimeout, s.http.ReadTimeout, s.http.WriteTimeout = limits.Header, limits.Body, limits.Answer
	s.http.IdleTimeout, s.shutDown = limits.Idle, limits.ShutDown
	s.connections.most = limits.Connections
}

// Address returns the address that the server listens on.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Encrypt makes the server use TLS. It disables HTTP/2: none of our clients needs it, and it would add attack surface for unauthenticated
// clients.
func (s *Server) Encrypt(config *tls.Config) {
	if s == nil {
		return
	}
	s.http.TLSConfig, s.http.Protocols = config, &http.Protocols{}
	s.http.Protocols.SetHTTP1(true)
}

// Start serves until ShutDown. It does nothing if the server is off.
func (s *Server) Start(ctx context.Context, handler http.Handler) {
	if s == nil {
		return
	}
	s.http.Handler, s.http.ConnState, s.http.ConnContext = s.connections.watch(handler), s.connections.changed, remember
	logger := klog.FromContext(ctx)
	logger.Info("Serving", "what", s.name, "address", s.listener.Addr().String(), "tls", s.http.TLSConfig != nil)
	go func() {
		defer utilruntime.HandleCrashWithContext(ctx)
		if err := s.serve(); !errors.Is(err, http.ErrServerClosed) {
			// The controller goes on. If it was the health server, the kubelet will restart the process.
			logger.Error(err, "Server has stopped unexpectedly", "what", s.name)
		}
	}()
}

func (s *Server) serve() error {
	if s.http.TLSConfig != nil {
		return s.http.ServeTLS(s.listener, "", "") // the configuration has the certificate
	}
	return s.http.Serve(s.listener)
}

// ShutDown stops the server once the requests in progress are answered, or after the shutdown timeout.
func (s *Server) ShutDown(ctx context.Context) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.shutDown)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		klog.FromContext(ctx).V(2).Info("Requests were still in progress when the server stopped", "what", s.name, "err", err)
	}
}
