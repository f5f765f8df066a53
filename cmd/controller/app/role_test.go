package app

import (
	"bufio"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// With -serve=webhook, a process serves webhooks, sends only the requests that the webhooks need, does not look like a controller to
// Prometheus, and stops in order.
func TestWebhooksAlone(t *testing.T) {
	t.Parallel()
	api := &recordingServer{}
	server := httptest.NewTLSServer(api)
	t.Cleanup(server.Close)
	folder := t.TempDir()
	writeCertificate(t, folder, server)
	p := startWebhooks(t, server, folder)

	get := func(url string) string {
		t.Helper()
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if answer := get("http://" + p.addresses["health"] + "/readyz?verbose"); answer != "[+]ping ok\nreadyz check passed\n" {
		t.Errorf("/readyz answers %q", answer)
	}
	answer, err := server.Client().Post("https://"+p.addresses["webhooks"]+"/validate", "application/json", strings.NewReader(review))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(body), `"allowed":true`) {
		t.Errorf("the webhook answers %s, error %v", body, err)
	}
	metrics := get("http://" + p.addresses["metrics"] + "/metrics")
	if !strings.Contains(metrics, `podmanager_webhook_requests_total{code="200",path="/validate"} 1`) || strings.Contains(metrics, "podmanager_panics_total") {
		t.Errorf("/metrics lacks the metrics of the webhooks, or has metrics of the controller:\n%s", metrics)
	}

	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(p.log)
	if err := p.command.Wait(); err != nil || !strings.Contains(string(rest), `"Stopped"`) {
		t.Errorf("the process did not stop in order: %v\n%s", err, rest)
	}
	want := []string{"GET /apis/apps.mycompany.com/v1", "POST /api/v1/namespaces/ns/pods"}
	if got := api.all(); !slices.Equal(got, want) {
		t.Errorf("the API server got the requests %q, want %q", got, want)
	}
}

// recordingServer is an API server that serves PodManagers, accepts everything and records the requests.
type recordingServer struct {
	mu    sync.Mutex
	asked []string
}

func (s *recordingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps.mycompany.com/v1","resources":[{"name":"podmanagers"}]}`)
}

func (s *recordingServer) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// writeCertificate writes the certificate of a server, which the server's client trusts.
func writeCertificate(t *testing.T, folder string, server *httptest.Server) {
	t.Helper()
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "tls.key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// webhookProcess is a process with -serve=webhook.
type webhookProcess struct {
	command   *exec.Cmd
	log       *bufio.Reader
	addresses map[string]string
}

// startWebhooks starts a process that uses an API server, and returns when all of the process's servers listen.
func startWebhooks(t *testing.T, server *httptest.Server, folder string) *webhookProcess {
	t.Helper()
	kubeconfig := filepath.Join(folder, "kubeconfig")
	config := fmt.Sprintf(`{"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a"}}],
		"clusters": [{"name": "a", "cluster": {"server": %q, "certificate-authority": %q}}]}`, server.URL, filepath.Join(folder, "tls.crt"))
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &webhookProcess{addresses: map[string]string{}, command: exec.Command(os.Args[0], "-serve=webhook", "-kubeconfig", kubeconfig,
		"-webhook-cert-dir", folder, "-webhook-bind-address=127.0.0.1:0", "-metrics-bind-address=127.0.0.1:0", "-health-probe-bind-address=127.0.0.1:0")}
	p.command.Env = append(os.Environ(), asController+"=yes")
	out, err := p.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.command.Process.Kill() })
	p.log = bufio.NewReader(out)
	serving := regexp.MustCompile(`"Serving" what="(\w+)" address="([^"]+)"`)
	for len(p.addresses) < 3 {
		line, err := p.log.ReadString('\n')
		if err != nil {
			t.Fatalf("the process ended before its servers listened: %v, %s", err, line)
		}
		if found := serving.FindStringSubmatch(line); found != nil {
			p.addresses[found[1]] = found[2]
		}
	}
	return p
}
