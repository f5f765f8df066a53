package clients

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// answer returns an API server that gives the same answer to every request.
func answer(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

// statusAnswer returns an API server that answers every request with an error.
func statusAnswer(code int, reason string) http.HandlerFunc {
	return answer(code, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"no"}`, code, reason))
}

const resources = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps.mycompany.com/v1","resources":[{"name":%q,"namespaced":true,"kind":"PodManager","verbs":["list"]}]}`

func TestConnect(t *testing.T) {
	tests := map[string]struct {
		handler http.Handler
		want    []string // in the error; none for success
	}{
		"served":          {answer(200, fmt.Sprintf(resources, "podmanagers")), nil},
		"no CRD":          {statusAnswer(404, "NotFound"), []string{"does not know podmanagers.apps.mycompany.com", "kubectl apply -f artifacts/crd.yaml"}},
		"no CRD, no JSON": {http.NotFoundHandler(), []string{"kubectl apply -f artifacts/crd.yaml"}},
		"another CRD":     {answer(200, fmt.Sprintf(resources, "others")), []string{"kubectl apply -f artifacts/crd.yaml"}},
		"unauthorized":    {statusAnswer(401, "Unauthorized"), []string{"does not accept the credentials", "in the kubeconfig", "in a pod, check that its ServiceAccount still exists"}},
		"forbidden":       {statusAnswer(403, "Forbidden"), []string{"does not let this user in", "the user in the kubeconfig or the ServiceAccount of the pod", "system:discovery"}},
		"server error":    {statusAnswer(500, "InternalError"), []string{"answers with an error", "kubectl get --raw"}},
		"hangs": {http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
			[]string{"cannot be reached", "check that it runs", "in a pod, check the NetworkPolicies"}},
		// client-go would retry ten times, a minute apart.
		"overloaded": {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "60")
			statusAnswer(429, "TooManyRequests")(w, r)
		}), []string{"cannot be reached"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.handler)
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			started := time.Now()
			_, err := Connect(ctx, Config{Master: server.URL, QPS: 50, Burst: 100})
			expectError(t, err, test.want, server.URL)
			if took := time.Since(started); took > 5*time.Second {
				t.Errorf("Connect took %v, want it to end when the context is done", took)
			}
		})
	}
}

func TestConnectWithoutServer(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = nil
	untrusted.StartTLS()
	defer untrusted.Close()
	for master, want := range map[string]string{
		"http://" + closed.Addr().String(): "cannot be reached",
		untrusted.URL:                      "certificate-authority in the kubeconfig; in a pod, check the ConfigMap kube-root-ca.crt",
		"http://%zz":                       "cannot be used",
	} {
		_, err := Connect(t.Context(), Config{Master: master, QPS: 50, Burst: 100})
		expectError(t, err, []string{want})
	}
}

func TestLoadRESTConfig(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const good = `{"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a"}}], "clusters": [{"name": "a", "cluster": {"server": "https://a:1"}}]}`
	tests := map[string]struct {
		kubeconfig, master string
		host               string
		want               []string
	}{
		"good":              {write("good", good), "", "https://a:1", nil},
		"overridden":        {write("good", good), "https://b:2", "https://b:2", nil},
		"master only":       {"", "https://b:2", "https://b:2", nil},
		"nothing":           {"", "", "", []string{"-kubeconfig FILE"}},
		"missing":           {filepath.Join(folder, "missing"), "", "", []string{"cannot be read", "no such file"}},
		"a folder":          {folder, "", "", []string{"cannot be read", "is a directory"}},
		"garbage":           {write("garbage", "{{{"), "", "", []string{"cannot be read", "yaml"}},
		"empty":             {write("empty", ""), "", "", []string{"cannot be used", "names no cluster"}},
		"context not there": {write("context", strings.Replace(good, `"a"`, `"b"`, 1)), "", "", []string{"cannot be used", "context was not found"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config, err := loadRESTConfig(Config{Kubeconfig: test.kubeconfig, Master: test.master})
			expectError(t, err, test.want, test.kubeconfig)
			if err == nil && config.Host != test.host {
				t.Errorf("the host is %s, want %s", config.Host, test.host)
			}
		})
	}
}

func TestClients(t *testing.T) {
	seen := map[string]http.Header{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen[r.URL.Path] = r.Header
		answer(200, fmt.Sprintf(resources, "podmanagers"))(w, r)
	}))
	defer server.Close()
	c, err := Connect(t.Context(), Config{Master: server.URL, UserAgent: "us", QPS: 50, Burst: 100, RenewDeadline: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	c.Kube.CoreV1().RESTClient().Get().AbsPath("/kube").Do(ctx)
	c.PodManagers.RESTClient().Get().AbsPath("/custom").Do(ctx)
	c.Lease.CoordinationV1().RESTClient().Get().AbsPath("/lease").Do(ctx)
	for path, want := range map[string][2]string{
		"/kube":   {"application/vnd.kubernetes.protobuf,application/json", "us"},
		"/custom": {"application/json", "us"},
		"/lease":  {"application/vnd.kubernetes.protobuf,application/json", "us/leader-election"},
	} {
		if got := seen[path]; !strings.HasPrefix(got.Get("Accept"), want[0]) || got.Get("User-Agent") != want[1] {
			t.Errorf("the request for %s has Accept %q and User-Agent %q, want %q", path, got.Get("Accept"), got.Get("User-Agent"), want)
		}
	}
	if c.Kube.CoreV1().RESTClient().GetRateLimiter() != c.PodManagers.RESTClient().GetRateLimiter() {
		t.Error("the clients do not share the limits that the flags set")
	}
	if c.Reviews.AuthenticationV1().RESTClient().GetRateLimiter() != nil {
		t.Error("the client of reviews has a rate limiter: reviews of unknown tokens would delay other reviews")
	}
	if c.Kube.CoreV1().RESTClient().GetRateLimiter() == c.Lease.CoordinationV1().RESTClient().GetRateLimiter() {
		t.Error("the client of Leases shares the rate limiter of the workers, so that renewals would wait for it")
	}
	// A client timeout would end each watch after that time.
	watching := c.LeaseWatches.CoordinationV1().RESTClient().(*rest.RESTClient)
	renewing := c.Lease.CoordinationV1().RESTClient().(*rest.RESTClient)
	if watching.Client.Timeout != 0 || renewing.Client.Timeout != 5*time.Second {
		t.Errorf("the timeout of watches is %v, want none; the timeout of renewals is %v, want 5s", watching.Client.Timeout, renewing.Client.Timeout)
	}
}

// A replica that takes many shards at once must not lose the first ones while it waits for the last ones.
func TestManyLeases(t *testing.T) {
	server := httptest.NewServer(answer(200, fmt.Sprintf(resources, "podmanagers")))
	defer server.Close()
	c, err := Connect(t.Context(), Config{Master: server.URL, QPS: 50, Burst: 100, RenewDeadline: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for i := range 256 {
		if err := c.Lease.CoordinationV1().RESTClient().Get().AbsPath("/lease").Do(ctx).Error(); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
}

// expectError checks that the error contains all parts, or that there is no error if parts is empty.
func expectError(t *testing.T, err error, parts []string, more ...string) {
	t.Helper()
	if len(parts) == 0 {
		if err != nil {
			t.Errorf("unexpected error: %v", err)
		}
		return
	}
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range append(more, parts...) {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in the error: %v", part, err)
		}
	}
}
