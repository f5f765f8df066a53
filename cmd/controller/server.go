package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // workqueue_*, rest_client_*, leader_election_*
	"k8s.io/klog/v2"
)

// serverShutdownTimeout is how long a running scrape may take when the process ends.
const serverShutdownTimeout = time.Second

// server is an HTTP server that already listens, so that an address in use is found before anything is served.
type server struct {
	name     string
	http     *http.Server
	listener net.Listener
}

// listen listens on the address of the flag flagName. It returns nil for off.
func listen(name, flagName, address string) (*server, error) {
	if address == off {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve %s: %w; choose another address with -%s, or 0 for none", name, err, flagName)
	}
	return &server{
		name:     name,
		listener: listener,
		http: &http.Server{
			ReadHeaderTimeout: 10 * time.Second,
			IdleTimeout:       90 * time.Second,
			// Recovered panics go here. component-base has made klog the default of slog.
			ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelError),
		},
	}, nil
}

func (s *server) start(ctx context.Context, handler http.Handler) {
	if s == nil {
		return
	}
	s.http.Handler = handler
	logger := klog.FromContext(ctx)
	logger.Info("Serving", "what", s.name, "address", s.listener.Addr().String())
	go func() {
		defer utilruntime.HandleCrashWithContext(ctx)
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			// No reason to stop the controller. If the health server fails, the kubelet will notice.
			logger.Error(err, "Server ended", "what", s.name)
		}
	}()
}

func (s *server) shutDown(ctx context.Context) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, serverShutdownTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		klog.FromContext(ctx).V(2).Info("Server was busy to the end", "what", s.name, "err", err)
	}
}

func metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", legacyregistry.Handler())
	return mux
}

// check is one part of a health check.
type check struct {
	name string
	// run returns an error if the check fails, and otherwise a warning or nothing.
	run func() (warning string, err error)
}

func healthHandler(live, ready []check) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", checksHandler("livez", live))
	mux.Handle("GET /healthz", checksHandler("healthz", live))
	mux.Handle("GET /readyz", checksHandler("readyz", ready))
	return mux
}

// checksHandler answers in the format of the API server's own health checks, and lists all checks if one fails or with ?verbose. A
// warning, which the API server does not have, is marked by [!].
func checksHandler(name string, checks []check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body strings.Builder
		failed := false
		for _, check := range append([]check{{"ping", func() (string, error) { return "", nil }}}, checks...) {
			switch warning, err := check.run(); {
			case err != nil:
				failed = true
				fmt.Fprintf(&body, "[-]%s failed: %v\n", check.name, err)
			case warning != "":
				fmt.Fprintf(&body, "[!]%s: %s\n", check.name, warning)
			default:
				fmt.Fprintf(&body, "[+]%s ok\n", check.name)
			}
		}
		switch {
		case failed:
			http.Error(w, body.String()+name+" check failed", http.StatusInternalServerError)
		case r.URL.Query().Has("verbose"):
			fmt.Fprintf(w, "%s%s check passed\n", &body, name)
		default:
			fmt.Fprint(w, "ok")
		}
	})
}
