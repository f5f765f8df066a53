package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	podsPath  = "/api/v1/namespaces/ns/pods"
	watchPath = podsPath + "?watch=true"
	// soon is how long a test waits for something that must not happen.
	soon = 100 * time.Millisecond
)

// fixture is a proxy in front of a server. The server counts its requests, and sends a line to its watches for each text in send.
type fixture struct {
	proxy    *Proxy
	client   *http.Client
	url      string
	requests atomic.Int32
	send     chan string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{send: make(chan string)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)

	config := clientcmdapi.NewConfig()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthorityData: ca}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "secret"}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	direct, proxied := filepath.Join(t.TempDir(), "direct"), filepath.Join(t.TempDir(), "proxied")
	if err := clientcmd.WriteToFile(*config, direct); err != nil {
		t.Fatal(err)
	}
	var err error
	if f.proxy, err = StartProxy(direct, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.proxy.Close() })
	if err := f.proxy.WriteKubeconfig(proxied); err != nil {
		t.Fatal(err)
	}
	f.client, f.url = clientOf(t, proxied)
	return f
}

func clientOf(t *testing.T, kubeconfig string) (*http.Client, string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client, config.Host
}

func (f *fixture) serve(w http.ResponseWriter, r *http.Request) {
	f.requests.Add(1)
	if !isTrue(r.URL.Query().Get("watch")) {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, r.Header.Get("Authorization"))
		return
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case line := <-f.send:
			fmt.Fprintln(w, line)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (f *fixture) create() (*http.Response, error) {
	return f.client.Post(f.url+podsPath, "application/json", strings.NewReader("{}"))
}

// watch opens a watch and returns its lines. The channel is closed when the watch ends.
func (f *fixture) watch(t *testing.T, ctx context.Context) <-chan string {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+watchPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := f.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		defer response.Body.Close()
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

func expect(t *testing.T, lines <-chan string, want string) {
	t.Helper()
	select {
	case got, open := <-lines:
		if got != want || open != (want != "") {
			t.Fatalf("got %q (open: %v), want %q", got, open, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("nothing came, want %q", want)
	}
}

func expectNothing(t *testing.T, lines <-chan string) {
	t.Helper()
	select {
	case got, open := <-lines:
		t.Fatalf("got %q (open: %v), want nothing", got, open)
	case <-time.After(soon):
	}
}

func isPodWatch(r Request) bool { return r.Is("watch", "pods") && r.Namespace == "ns" }

func TestPassesOn(t *testing.T) {
	f := newFixture(t)
	response, err := f.create()
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusCreated || string(body) != "Bearer secret" {
		t.Errorf("%d %q, want the server's answer to the client's own token", response.StatusCode, body)
	}
	if log := f.proxy.Log(); len(log) != 0 {
		t.Errorf("log %v", log)
	}
}

func TestAddsNoCredentials(t *testing.T) {
	f := newFixture(t)
	f.client.Transport = f.client.Transport.(interface{ WrappedRoundTripper() http.RoundTripper }).WrappedRoundTripper()
	response, err := f.create()
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(response.Body); len(body) != 0 {
		t.Errorf("a client without a token came in with %q", body)
	}
}

func TestDropAnswer(t *testing.T) {
	f := newFixture(t)
	remove := f.proxy.Inject(Rule{Name: "lost", Rate: 1, Faults: []Fault{{DropAnswer: true}},
		Match: func(r Request) bool { return r.Is("create", "pods") }})
	if response, err := f.create(); err == nil {
		t.Errorf("answered %s", response.Status)
	}
	if got := f.requests.Load(); got != 1 {
		t.Errorf("the server got %d requests, want 1", got)
	}
	if log := f.proxy.Log(); len(log) != 1 || log[0].Did != "dropped the answer 201" {
		t.Errorf("log %v", log)
	}
	remove()
	if _, err := f.create(); err != nil {
		t.Error(err)
	}
}

func TestRefuse(t *testing.T) {
	f := newFixture(t)
	f.proxy.Inject(Rule{Name: "busy", Rate: 1, Faults: []Fault{{Status: 429, RetryAfter: time.Second}}, Match: Request.IsWrite})
	response, err := f.create()
	if err != nil {
		t.Fatal(err)
	}
	var status metav1.Status
	if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 429 || response.Header.Get("Retry-After") != "1" || status.Reason != metav1.StatusReasonTooManyRequests {
		t.Errorf("%d, Retry-After %s, %+v", response.StatusCode, response.Header.Get("Retry-After"), status)
	}
	if f.requests.Load() != 0 || f.proxy.Count("busy") != 1 {
		t.Errorf("forwarded: %d, counted: %d", f.requests.Load(), f.proxy.Count("busy"))
	}
}

func TestDelay(t *testing.T) {
	f := newFixture(t)
	f.proxy.Inject(Rule{Name: "slow", Rate: 1, Faults: []Fault{{Delay: soon}}})
	began := time.Now()
	if _, err := f.create(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < soon {
		t.Errorf("took %v", took)
	}
}

func TestRate(t *testing.T) {
	f := newFixture(t)
	f.proxy.Inject(Rule{Name: "some", Rate: 0.3, Faults: []Fault{{Status: 500}, {Status: 503}}})
	got := map[int]int{}
	for range 300 {
		response, err := f.create()
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		got[response.StatusCode]++
	}
	if hit := got[500] + got[503]; hit < 60 || hit > 120 || got[500] == 0 || got[503] == 0 || hit != f.proxy.Count("some") {
		t.Errorf("answers %v", got)
	}
}

func TestStallAndResume(t *testing.T) {
	f := newFixture(t)
	lines := f.watch(t, t.Context())
	f.send <- "before"
	expect(t, lines, "before")

	stall := f.proxy.Stall(isPodWatch)
	f.send <- "during"
	expectNothing(t, lines)
	late := f.watch(t, t.Context()) // a watch that is opened now gets nothing, either
	f.send <- "to one of the two"
	expectNothing(t, lines)
	expectNothing(t, late)

	stall.Resume()
	expect(t, lines, "during")
	f.send <- "after"
}

func TestStallAndCut(t *testing.T) {
	f := newFixture(t)
	lines := f.watch(t, t.Context())
	stall := f.proxy.Stall(isPodWatch)
	f.send <- "lost"
	expectNothing(t, lines)
	stall.Cut()
	expect(t, lines, "")

	lines = f.watch(t, t.Context())
	f.send <- "found"
	expect(t, lines, "found")
}

func TestStallsOnlyWhatMatches(t *testing.T) {
	f := newFixture(t)
	lines := f.watch(t, t.Context())
	f.proxy.Stall(func(r Request) bool { return r.Is("watch", "podmanagers") })
	f.send <- "flows"
	expect(t, lines, "flows")
}

func TestCutIdleWatch(t *testing.T) {
	f := newFixture(t)
	lines := f.watch(t, t.Context())
	if got := f.proxy.CutWatches(isPodWatch); got != 1 {
		t.Errorf("%d watches were open, want 1", got)
	}
	expect(t, lines, "")
}

// A client that disconnects during a stall leaves nothing behind.
func TestClientLeavesDuringStall(t *testing.T) {
	f := newFixture(t)
	ctx, leave := context.WithCancel(t.Context())
	f.watch(t, ctx)
	f.proxy.Stall(isPodWatch)
	f.send <- "held"
	leave()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		f.proxy.mu.Lock()
		open := len(f.proxy.watches)
		f.proxy.mu.Unlock()
		if open == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the watch is still open")
		}
	}
}

func TestParse(t *testing.T) {
	tests := map[string]struct {
		method, url string
		want        Request
	}{
		"create":     {"POST", podsPath, Request{"create", "", "pods", "", "ns", ""}},
		"get":        {"GET", podsPath + "/a", Request{"get", "", "pods", "", "ns", "a"}},
		"list":       {"GET", podsPath, Request{"list", "", "pods", "", "ns", ""}},
		"list all":   {"GET", "/api/v1/pods?watch=false", Request{"list", "", "pods", "", "", ""}},
		"watch":      {"GET", "/api/v1/pods?watch=1", Request{"watch", "", "pods", "", "", ""}},
		"delete":     {"DELETE", podsPath + "/a", Request{"delete", "", "pods", "", "ns", "a"}},
		"delete all": {"DELETE", podsPath, Request{"deletecollection", "", "pods", "", "ns", ""}},
		"status": {"PUT", "/apis/apps.mycompany.com/v1/namespaces/ns/podmanagers/m/status",
			Request{"update", "apps.mycompany.com", "podmanagers", "status", "ns", "m"}},
		"namespace":        {"PATCH", "/api/v1/namespaces/ns", Request{"patch", "", "namespaces", "", "ns", "ns"}},
		"namespace status": {"PUT", "/api/v1/namespaces/ns/status", Request{"update", "", "namespaces", "status", "ns", "ns"}},
		"no resource":      {"GET", "/readyz", Request{Verb: "get"}},
		"discovery":        {"GET", "/apis/apps.mycompany.com/v1", Request{Verb: "get"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := parse(httptest.NewRequest(test.method, test.url, nil)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
