package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2/ktesting"

	"github.com/mycompany/podmanager/pkg/serve"
	"github.com/mycompany/podmanager/pkg/webhook/metrics"
)

// patience is the timeout for events that should happen soon.
const patience = 60 * time.Second

// testLimits are short enough to wait for, and long enough for a handshake on a busy machine.
var testLimits = serve.Limits{
	Header: 2 * time.Second, Body: 4 * time.Second, Answer: patience, Idle: time.Minute, Connections: 8, ShutDown: 5 * time.Second,
}

// testServer serves webhooks over TLS on this machine.
type testServer struct {
	*serve.Server
	t       *testing.T
	handler *Handler
	// release makes the webhook /wait answer.
	release chan struct{}
	// waiting is the number of requests in /wait.
	waiting atomic.Int32
	client  *http.Client
}

func startServer(t *testing.T, limits serve.Limits) *testServer {
	t.Helper()
	metrics.Register()
	s := &testServer{t: t, release: make(chan struct{})}
	var err error
	if s.Server, err = serve.Listen("webhooks", "flag", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	encryption, err := serve.TLS("")
	if err != nil {
		t.Fatal(err)
	}
	s.Bound(limits)
	s.Encrypt(encryption)
	s.handler = NewHandler(map[string]http.Handler{
		"/echo":  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }),
		"/panic": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a bug") }),
		"/half": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "half of")
			panic("a bug")
		}),
		"/wait": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.waiting.Add(1)
			defer s.waiting.Add(-1)
			select {
			case <-s.release:
			case <-r.Context().Done():
				http.Error(w, context.Cause(r.Context()).Error(), http.StatusGatewayTimeout)
			}
		}),
	})
	_, ctx := ktesting.NewTestContext(t)
	s.Start(ctx, s.handler)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	s.client = &http.Client{Transport: transport, Timeout: patience}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.ShutDown(context.Background())
	})
	return s
}

// ask sends a request and returns the status code and body of the response.
func (s *testServer) ask(method, path, contentType string, body io.Reader) (int, string, error) {
	request, err := http.NewRequestWithContext(context.Background(), method, "https://"+s.Address()+path, body)
	if err != nil {
		return 0, "", err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, string(answer), err
}

// expectEcho checks that the server works.
func (s *testServer) expectEcho(when string) {
	s.t.Helper()
	if code, body, err := s.ask("POST", "/echo", "application/json", strings.NewReader(`{}`)); err != nil || code != 200 || body != "{}" {
		s.t.Errorf("%s: got %d %q, error %v; want the echo", when, code, body, err)
	}
}

// await waits until isSo returns true.
func (s *testServer) await(what string, isSo func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !isSo(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// zeros returns a body of n bytes, with or without a Content-Length.
func zeros(n int64, isAnnounced bool) io.Reader {
	if isAnnounced {
		return bytes.NewReader(make([]byte, n))
	}
	return io.LimitReader(endless{}, n)
}

type endless struct{}

func (endless) Read(buffer []byte) (int, error) { return len(buffer), nil }

// Requests that no API server sends are refused, and do not affect later requests.
func TestRefusals(t *testing.T) {
	limits := testLimits
	limits.Body = patience // large bodies take a while on a busy machine
	s := startServer(t, limits)
	const json = "application/json"
	tests := map[string]struct {
		method, path, contentType string
		body                      io.Reader
		code                      int
		part                      string
	}{
		"a review":                  {"POST", "/echo", json, strings.NewReader(`{"a":1}`), 200, `{"a":1}`},
		"with a charset":            {"POST", "/echo", json + "; charset=utf-8", strings.NewReader(`{}`), 200, `{}`},
		"with a timeout":            {"POST", "/echo?timeout=5s", json, strings.NewReader(`{}`), 200, `{}`},
		"GET":                       {"GET", "/echo", json, nil, 405, "POST"},
		"PUT":                       {"PUT", "/echo", json, strings.NewReader(`{}`), 405, "POST"},
		"DELETE":                    {"DELETE", "/echo", json, nil, 405, "POST"},
		"TRACE":                     {"TRACE", "/echo", json, nil, 405, "POST"},
		"a method of one's own":     {"BREW", "/echo", json, nil, 405, "POST"},
		"no content type":           {"POST", "/echo", "", strings.NewReader(`{}`), 415, json},
		"YAML":                      {"POST", "/echo", "application/yaml", strings.NewReader(`{}`), 415, json},
		"protobuf":                  {"POST", "/echo", "application/vnd.kubernetes.protobuf", strings.NewReader(`{}`), 415, json},
		"a form":                    {"POST", "/echo", "application/x-www-form-urlencoded", strings.NewReader(`a=b`), 415, json},
		"a content type of garbage": {"POST", "/echo", "application/json; =", strings.NewReader(`{}`), 415, json},
		"another path":              {"POST", "/other", json, strings.NewReader(`{}`), 404, "not found"},
		"below a path":              {"POST", "/echo/more", json, strings.NewReader(`{}`), 404, "not found"},
		"the root":                  {"GET", "/", "", nil, 404, "not found"},
		"metrics":                   {"GET", "/metrics", "", nil, 404, "not found"},
		"up and away":               {"POST", "/echo/%2e%2e/other", json, strings.NewReader(`{}`), 404, "not found"},
		"just small enough":         {"POST", "/echo", json, zeros(maxBody, true), 200, ""},
		"too large":                 {"POST", "/echo", json, zeros(maxBody+1, true), 413, "at most"},
		"too large, not announced":  {"POST", "/echo", json, zeros(maxBody+1, false), 413, "too large"},
		"without an end":            {"POST", "/echo", json, zeros(1<<40, false), 413, "too large"},
		"no body":                   {"POST", "/echo", json, nil, 200, ""},
		"a header without end":      {"POST", "/echo", json + ";a=" + strings.Repeat("a", 1<<20), nil, 431, ""},
		"a timeout of garbage":      {"POST", "/echo?timeout=-1s&timeout=x", json, strings.NewReader(`{}`), 200, `{}`},
		"a query of garbage":        {"POST", "/echo?%zz", json, strings.NewReader(`{}`), 200, `{}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, body, err := s.ask(test.method, test.path, test.contentType, test.body)
			// A client that is still sending when it is refused may see the connection closed before it reads the response.
			isCutShort := err != nil && (test.code == 413 || test.code == 431)
			if !isCutShort && (err != nil || code != test.code || !strings.Contains(body, test.part)) {
				t.Errorf("got %d %.200q, error %v; want %d with %q", code, body, err, test.code, test.part)
			}
			s.expectEcho("afterwards")
		})
	}
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/echo", nil))
	if allow := answer.Header().Get("Allow"); allow != http.MethodPost {
		t.Errorf("the header Allow of the response to GET is %q, want POST", allow)
	}
}

// A repeated request gets the same response: the server keeps no state.
func TestReplay(t *testing.T) {
	s := startServer(t, testLimits)
	for range 3 {
		if code, body, err := s.ask("POST", "/echo", "application/json", strings.NewReader(`{"uid":"1"}`)); err != nil || code != 200 || body != `{"uid":"1"}` {
			t.Errorf("got %d %q, error %v", code, body, err)
		}
	}
}

// A panic results in a response and a metric. It ends neither the process nor the connection.
func TestPanic(t *testing.T) {
	s := startServer(t, testLimits)
	count := func() float64 {
		t.Helper()
		families, err := legacyregistry.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() == "podmanager_webhook_panics_total" {
				return family.GetMetric()[0].GetCounter().GetValue()
			}
		}
		t.Fatal("there is no metric podmanager_webhook_panics_total")
		return 0
	}
	before := count()
	for i := range 2 {
		code, body, err := s.ask("POST", "/panic", "application/json", strings.NewReader(`{}`))
		if err != nil || code != 500 || !strings.Contains(body, "panicked") || strings.Contains(body, "a bug") {
			t.Errorf("got %d %q, error %v; want 500", code, body, err)
		}
		if got := count() - before; got != float64(i+1) {
			t.Errorf("%v panics counted, want %d", got, i+1)
		}
	}
	// A response that was started cannot be taken back, but must not look complete.
	if code, body, err := s.ask("POST", "/half", "application/json", strings.NewReader(`{}`)); err == nil {
		t.Errorf("got %d %q as if half a response were complete", code, body)
	}
	s.expectEcho("afterwards")
}

// A webhook gets slightly less time than the API server waits.
func TestDeadline(t *testing.T) {
	s := startServer(t, testLimits)
	started := time.Now()
	code, body, err := s.ask("POST", "/wait?timeout=200ms", "application/json", strings.NewReader(`{}`))
	if took := time.Since(started); err != nil || code != 504 || took < 180*time.Millisecond || took > patience/2 {
		t.Errorf("got %d %q after %v, error %v; want 504 after 180 ms", code, body, took, err)
	}
}

// The total size of all bodies is limited, so that large ones cannot use up the memory. One large request is answered at a time. Small requests
// do not wait.
func TestBodiesBounded(t *testing.T) {
	limits := testLimits
	limits.Body = patience // large bodies take a while on a busy machine
	s := startServer(t, limits)
	answers := make(chan int)
	for range 2 {
		go func() {
			code, _, _ := s.ask("POST", "/wait", "application/json", zeros(maxBody, true))
			answers <- code
		}()
	}
	s.await("two large requests", func() bool { return s.handler.reading.Load() == maxBodies && s.waiting.Load() == 1 })
	s.expectEcho("beside large requests")
	if code, body, err := s.ask("POST", "/echo", "application/json", zeros(largeBody+1, true)); err == nil && code != 503 {
		t.Errorf("got %d %.100q; want 503", code, body)
	}
	if waiting := s.waiting.Load(); waiting != 1 {
		t.Errorf("%d large requests are answered at a time, want one", waiting)
	}
	close(s.release)
	for range 2 {
		if code := <-answers; code != 200 {
			t.Errorf("a large request got %d", code)
		}
	}
	s.await("the release of their memory", func() bool { return s.handler.reading.Load() == 0 })
	if code, _, err := s.ask("POST", "/echo", "application/json", zeros(largeBody+1, true)); err != nil || code != 200 {
		t.Errorf("got %d, error %v, after the other requests have ended; want 200", code, err)
	}
}

// A large request waits for another one until its deadline.
func TestLargeRequestWaits(t *testing.T) {
	s := startServer(t, testLimits)
	first := make(chan int)
	go func() {
		code, _, _ := s.ask("POST", "/wait", "application/json", zeros(largeBody+1, true))
		first <- code
	}()
	s.await("a large request", func() bool { return s.waiting.Load() == 1 })
	if code, body, err := s.ask("POST", "/echo?timeout=1s", "application/json", zeros(largeBody+1, true)); err != nil || code != 503 || !strings.Contains(body, errBusy.Error()) {
		t.Errorf("got %d %.100q, error %v; want 503", code, body, err)
	}
	if code, _, err := s.ask("POST", "/echo?timeout=1s", "application/json", zeros(largeBody, true)); err != nil || code != 200 {
		t.Errorf("a small request got %d, error %v; want 200", code, err)
	}
	close(s.release)
	if code := <-first; code != 200 {
		t.Errorf("the first large request got %d", code)
	}
	s.await("the release of its memory", func() bool { return s.handler.reading.Load() == 0 && len(s.handler.large) == 0 })
}

// Small requests have room beside large ones, but their total size is limited as well.
func TestRoomForSmallBodies(t *testing.T) {
	s := startServer(t, testLimits)
	s.handler.reading.Store(maxBodies + smallBodies - 100)
	s.expectEcho("in the last room")
	if code, body, err := s.ask("POST", "/echo", "application/json", zeros(101, true)); err != nil || code != 503 {
		t.Errorf("got %d %.100q, error %v; want 503", code, body, err)
	}
}

// A request in progress gets its response when the server shuts down. Requests before the shutdown are told to connect to another replica.
func TestEnd(t *testing.T) {
	s := startServer(t, testLimits)
	answered := make(chan error)
	go func() {
		code, _, err := s.ask("POST", "/wait", "application/json", strings.NewReader(`{}`))
		if err == nil && code != 200 {
			err = fmt.Errorf("code %d", code)
		}
		answered <- err
	}()
	s.await("a request", func() bool { return s.waiting.Load() == 1 })
	s.handler.End()
	response, err := s.client.Post("https://"+s.Address()+"/echo", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if !response.Close {
		t.Error("the server does not ask the client to close the connection")
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.ShutDown(context.Background())
	}()
	s.await("the server to refuse connections", func() bool {
		_, _, err := s.ask("POST", "/echo", "application/json", nil)
		return err != nil
	})
	close(s.release)
	if err := <-answered; err != nil {
		t.Errorf("the request in progress failed: %v", err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error(errors.New("ShutDown does not return"))
	}
}
