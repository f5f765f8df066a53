//go:build e2e

package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	systemSpace   = "podmanager-system"
	configuration = "podmanager"
	secretName    = "podmanager-webhook"
	crd           = "podmanagers.apps.mycompany.com"
)

// hook is a controller that serves webhooks.
type hook struct {
	*lab.Process
	address string
}

// start starts a controller that serves webhooks and handles no PodManager. It is stopped when the test is over.
func start(t *testing.T, flags ...string) *hook {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hook{address: listener.Addr().String()}
	listener.Close()
	flags = append([]string{"-v", "2", "-selector", "nobody=has-this", "-webhook-bind-address", h.address,
		"-webhook-namespace", systemSpace, "-webhook-host", "127.0.0.1"}, flags...)
	if h.Process, err = cluster.Launch("webhook", flags...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.end(t)
		if t.Failed() {
			t.Logf("the end of the controller's log:\n%s", h.Tail(60))
		}
	})
	return h
}

// end stops a controller unless it has exited already.
func (h *hook) end(t *testing.T) {
	t.Helper()
	select {
	case <-h.Exited:
		return
	default:
	}
	if err := h.Stop(); err != nil {
		t.Errorf("the controller did not stop cleanly: %v", err)
	}
}

// ready waits until a controller is ready.
func (h *hook) ready(t *testing.T) *hook {
	t.Helper()
	harness.Await(t, "a controller to be ready", func() (any, bool) {
		answer, err := h.Ready()
		return fmt.Sprint(answer, err), err == nil
	})
	return h
}

// clean removes what an earlier test has left behind, and at the end what this one leaves.
func clean(t *testing.T) {
	t.Helper()
	remove := func() {
		ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
		defer cancel()
		for _, err := range []error{
			cluster.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, configuration, metav1.DeleteOptions{}),
			cluster.Kube.CoreV1().Secrets(systemSpace).Delete(ctx, secretName, metav1.DeleteOptions{}),
		} {
			if err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	}
	remove()
	t.Cleanup(remove)
}

// manifest returns artifacts/webhook/configuration.yaml with a URL instead of the Service, which is not reachable here.
func manifest(t *testing.T, h *hook) string {
	t.Helper()
	data, err := os.ReadFile("artifacts/webhook/configuration.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	for _, webhook := range object["webhooks"].([]any) {
		webhook.(map[string]any)["clientConfig"] = map[string]any{"url": "https://" + h.address + "/validate"}
	}
	if data, err = yaml.Marshal(object); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func kubectl(t *testing.T, input string, arguments ...string) string {
	t.Helper()
	out, err := cluster.KubectlWith(t.Context(), input, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readConfiguration(t *testing.T) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	found, err := cluster.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), configuration, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// bundle returns the bundle in the configuration.
func bundle(t *testing.T) []byte {
	t.Helper()
	return readConfiguration(t).Webhooks[0].ClientConfig.CABundle
}

// secret returns the Secret, or nil if it does not exist.
func secret(t *testing.T) *corev1.Secret {
	t.Helper()
	found, err := cluster.Kube.CoreV1().Secrets(systemSpace).Get(t.Context(), secretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// awaitBundle waits until the configuration holds the CA of the Secret.
func awaitBundle(t *testing.T) []byte {
	t.Helper()
	var held []byte
	harness.Await(t, "the bundle to hold the CA of the Secret", func() (any, bool) {
		made := secret(t)
		if made == nil {
			return "no Secret", false
		}
		held = bundle(t)
		return fmt.Sprintf("%s\n%s", held, made.Data["ca.crt"]), bytes.Contains(held, made.Data["ca.crt"])
	})
	return held
}

func authorities(bundle []byte) int {
	count := 0
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		count++
	}
	return count
}

// handshake connects to a controller as a client that trusts this bundle, and returns the serial number of the CA.
func (h *hook) handshake(bundle []byte) (string, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	connection, err := tls.DialWithDialer(dialer, "tcp", h.address, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err != nil {
		return "", err
	}
	defer connection.Close()
	chain := connection.ConnectionState().VerifiedChains[0]
	return chain[len(chain)-1].SerialNumber.Text(16), nil
}

// calls returns how many requests have reached the webhooks of a controller, whatever the response.
func (h *hook) calls(t *testing.T) int {
	t.Helper()
	text, err := h.ReadMetrics()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "podmanager_webhook_requests_total{") {
			fields := strings.Fields(line)
			value, err := strconv.Atoi(fields[len(fields)-1])
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			sum += value
		}
	}
	return sum
}

// apply makes the API server call the webhooks, with a dry-run create of a PodManager.
func apply(t *testing.T) {
	t.Helper()
	manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{GenerateName: "webhook-"}, Spec: v1.PodManagerSpec{Image: "nginx"}}
	if _, err := cluster.Managers.AppsV1().PodManagers("default").Create(t.Context(), manager, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
}

// awaitCall waits until the API server reaches the webhooks of a controller: it must see the configuration and the bundle first.
func awaitCall(t *testing.T, h *hook) {
	t.Helper()
	before := h.calls(t)
	harness.Await(t, "the API server to call", func() (any, bool) {
		apply(t)
		return h.calls(t), h.calls(t) > before
	})
}

// writeFile writes a file into a folder of the test.
func writeFile(t *testing.T, folder, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}
