package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/pkg/bounds"
	"github.com/mycompany/podmanager/pkg/serve"
	"github.com/mycompany/podmanager/pkg/webhook/metrics"
)

// Limits are the limits of the server. Its port is open to any client: API servers present no client certificate unless they are configured to.
var Limits = serve.Limits{
	Header: 5 * time.Second,
	Body:   10 * time.Second,
	// API servers wait up to 30 s for a conversion.
	Answer: 30 * time.Second,
	// API servers keep connections for 90 s. If this server closed them earlier, a request could arrive on a connection that is being closed.
	Idle: 2 * time.Minute,
	// By default, an API server has at most 200 writes in progress, and a cluster has a few API servers.
	Connections: 1000,
	ShutDown:    5 * time.Second,
}

const (
	// maxBody limits the size of a request. An object has at most 3 MB. An update includes the old and the new object, and a conversion a page of
	// a list.
	maxBody = 16 << 20
	// largeBody is the size above which a request is large. One large request is answered at a time, because it takes several times its size in
	// memory.
	largeBody = 1 << 20
	// maxBodies limits the total size of all requests in progress if one of them is large. There is room for one that is answered and one that
	// waits.
	maxBodies = 2 * maxBody
	// smallBodies is additional room for small requests, so that large requests, which may wait for a while, do not lock them out.
	smallBodies = 8 << 20
)

// Handler answers requests.
type Handler struct {
	mux *http.ServeMux
	// reading is the total size of all bodies in memory.
	reading atomic.Int64
	// large has an element while a large request is answered.
	large chan struct{}
	// isEnding is set if clients should connect to another replica.
	isEnding atomic.Bool
}

// NewHandler creates the handler of these paths.
func NewHandler(routes map[string]http.Handler) *Handler {
	h := &Handler{mux: http.NewServeMux(), large: make(chan struct{}, 1)}
	for path, route := range routes {
		h.mux.Handle(path, h.guard(path, route))
	}
	h.mux.Handle("/", h.guard("none", http.NotFoundHandler()))
	return h
}

// End makes clients close their connections after the next response, so that they connect to another replica.
func (h *Handler) End() { h.isEnding.Store(true) }

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.isEnding.Load() {
		w.Header().Set("Connection", "close")
	}
	h.mux.ServeHTTP(w, r)
}

// guard passes a request to a webhook only if an API server could have sent it.
func (h *Handler) guard(path string, route http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		answer := &answer{ResponseWriter: w}
		defer func() {
			if problem := recover(); problem != nil {
				h.recovered(r, answer, problem)
			}
			metrics.Observe(path, answer.code, time.Since(started))
			if answer.isBroken {
				panic(http.ErrAbortHandler) // closes the connection, so that half a response is not mistaken for a complete one
			}
		}()
		ctx, cancel := context.WithTimeout(r.Context(), timeLeft(r))
		defer cancel()
		if path != "none" {
			if code, why := refuse(r); code != 0 {
				if code == http.StatusMethodNotAllowed {
					w.Header().Set("Allow", http.MethodPost)
				}
				http.Error(answer, why, code)
				return
			}
			done, code, err := h.readBody(w, r)
			if err != nil {
				http.Error(answer, err.Error(), code)
				return
			}
			defer done()
			leave, err := h.enter(ctx, r.ContentLength)
			if err != nil {
				http.Error(answer, err.Error(), http.StatusServiceUnavailable)
				return
			}
			defer leave()
		}
		route.ServeHTTP(answer, r.WithContext(ctx))
		if answer.code == 0 {
			answer.code = http.StatusOK // the default of net/http
		}
	})
}

// refuse checks the header of a request. It returns 0 if the header is valid.
func refuse(r *http.Request) (code int, why string) {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, "a review has to be sent with POST"
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return http.StatusUnsupportedMediaType, "a review has to be application/json"
	}
	if r.ContentLength > maxBody {
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("a review has at most %d bytes", maxBody)
	}
	return 0, ""
}

// readBody reads the body before the webhook sees the request, so that a slow client does not keep a webhook busy. Bytes that were read count towards
// maxBodies until done is called. The Content-Length does not count. Otherwise two clients that announce large bodies and send nothing could lock
// out all others.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) (done func(), code int, err error) {
	body := &countingReader{from: http.MaxBytesReader(w, r.Body, maxBody), all: &h.reading}
	data, err := io.ReadAll(body)
	if err != nil {
		body.release()
		tooLarge := &http.MaxBytesError{}
		switch {
		case errors.As(err, &tooLarge):
			return nil, http.StatusRequestEntityTooLarge, err
		case errors.Is(err, errBusy):
			w.Header().Set("Connection", "close") // the rest of the body is not worth reading
			return nil, http.StatusServiceUnavailable, err
		}
		return nil, http.StatusBadRequest, fmt.Errorf("the body cannot be read: %w", err)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return body.release, 0, nil
}

// enter waits until the request may be answered. Small requests do not wait.
func (h *Handler) enter(ctx context.Context, size int64) (leave func(), err error) {
	if size <= largeBody {
		return func() {}, nil
	}
	select {
	case h.large <- struct{}{}:
		return func() { <-h.large }, nil
	case <-ctx.Done():
		return nil, errBusy
	}
}

var errBusy = errors.New("too many large requests at a time")

// countingReader adds the bytes that it reads to a shared total.
type countingReader struct {
	from io.Reader
	all  *atomic.Int64
	read int64
}

func (c *countingReader) Read(buffer []byte) (int, error) {
	n, err := c.from.Read(buffer)
	c.read += int64(n)
	limit := int64(maxBodies)
	if c.read <= largeBody {
		limit += smallBodies
	}
	if c.all.Add(int64(n)) > limit {
		return n, errBusy
	}
	return n, err
}

func (c *countingReader) release() {
	c.all.Add(-c.read)
	c.read = 0
}

// timeLeft returns how long the API server waits for the response, which is in the query, minus a margin for the network.
func timeLeft(r *http.Request) time.Duration {
	asked, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || asked <= 0 || asked > Limits.Answer {
		asked = Limits.Answer
	}
	return asked * 9 / 10
}

// recovered answers with 500 for a webhook that has panicked, unless a part of the response was already sent: guard then closes the connection. The
// process stays alive.
func (h *Handler) recovered(r *http.Request, answer *answer, problem any) {
	metrics.Panics.Inc()
	klog.FromContext(r.Context()).Error(nil, "Panic while answering a webhook's request", "path", bounds.Short(r.URL.Path), "panic", bounds.Short(fmt.Sprint(problem)), "stack", string(debug.Stack()))
	if answer.code != 0 {
		answer.isBroken = true
		return
	}
	http.Error(answer, "the webhook has panicked: see the log of the process that serves the webhooks", http.StatusInternalServerError)
}

// answer records the status code of the response.
type answer struct {
	http.ResponseWriter
	code     int
	isBroken bool
}

func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
	a.ResponseWriter.WriteHeader(code)
}

func (a *answer) Write(data []byte) (int, error) {
	if a.code == 0 {
		a.code = http.StatusOK
	}
	return a.ResponseWriter.Write(data)
}
