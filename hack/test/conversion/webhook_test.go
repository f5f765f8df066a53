//go:build e2e

package conversion

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/pkg/webhook/conversion"
)

// webhook is the production handler behind TLS. Its address stays the same for all tests.
type webhook struct {
	address string
	server  *httptest.Server
	// rendered is the output of kubectl kustomize for artifacts with the webhook component. installed is the CRD that was last applied.
	rendered, installed string
	// calls counts the reviews that were received. While hangs is true, they are not answered.
	calls atomic.Int64
	hangs atomic.Bool
}

func newWebhook() (*webhook, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &webhook{address: listener.Addr().String()}
	h.run(listener)
	return h, nil
}

func (h *webhook) run(listener net.Listener) {
	mux := http.NewServeMux()
	mux.Handle(conversion.Path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.calls.Add(1)
		if h.hangs.Load() {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		conversion.Handler().ServeHTTP(w, r)
	}))
	h.server = httptest.NewUnstartedServer(mux)
	_ = h.server.Listener.Close()
	h.server.Listener = listener
	h.server.StartTLS()
}

// start serves again after stop.
func (h *webhook) start() error {
	if h.server != nil {
		return nil
	}
	listener, err := net.Listen("tcp", h.address)
	if err == nil {
		h.run(listener)
	}
	return err
}

// stop closes the listener and all connections. From then on, connections of the API server are refused.
func (h *webhook) stop() error {
	if h.server != nil {
		h.server.CloseClientConnections()
		h.server.Close()
		h.server = nil
	}
	return nil
}

// certificate returns the server's self-signed certificate, which is valid for 127.0.0.1.
func (h *webhook) certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.server.Certificate().Raw})
}

// crd returns the CRD of the component artifacts/webhook with our webhook. storesAlpha selects the storage version.
func (h *webhook) crd(t *testing.T, storesAlpha bool) string {
	t.Helper()
	if h.rendered == "" {
		h.rendered = kubectl(t, "kustomize", kustomization(t))
	}
	for _, document := range strings.Split(h.rendered, "\n---\n") {
		if !strings.Contains(document, "kind: CustomResourceDefinition\n") {
			continue
		}
		crd := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &crd); err != nil {
			t.Fatal(err)
		}
		spec := crd["spec"].(map[string]any)
		webhook := spec["conversion"].(map[string]any)["webhook"].(map[string]any)
		webhook["clientConfig"] = map[string]any{"url": "https://" + h.address + conversion.Path, "caBundle": base64.StdEncoding.EncodeToString(h.certificate())}
		for _, each := range spec["versions"].([]any) {
			version := each.(map[string]any)
			version["storage"] = (version["name"] == "v1alpha1") == storesAlpha
		}
		text, err := yaml.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	t.Fatalf("there is no CRD in\n%s", h.rendered)
	return ""
}

// kustomization returns a folder with a kustomization as a user would write it.
func kustomization(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	artifacts, err := filepath.Rel(folder, filepath.Join(root, "artifacts"))
	if err == nil {
		text := fmt.Sprintf("kind: Kustomization\nresources: [%s]\ncomponents: [%s/webhook]\n", artifacts, artifacts)
		err = os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// serveAlpha installs the CRD with both versions, and waits until the API server converts.
func serveAlpha(t *testing.T) {
	t.Helper()
	if err := shared.hook.start(); err != nil {
		t.Fatal(err)
	}
	shared.hook.install(t, false)
	awaitAlpha(t)
}

// install applies the CRD with both versions, unless it was the last one applied.
func (h *webhook) install(t *testing.T, storesAlpha bool) {
	t.Helper()
	if crd := h.crd(t, storesAlpha); crd != h.installed {
		apply(t, crd)
		h.installed = crd
	}
}

func awaitAlpha(t *testing.T) {
	t.Helper()
	harness.Await(t, "v1alpha1 to be served", func() (any, bool) {
		out, err := shared.cluster.Kubectl(t.Context(), "get", alphaName, "-A")
		return errors.Join(err, errors.New(out)), err == nil
	})
}
