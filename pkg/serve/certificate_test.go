package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2/ktesting"
)

// writeCertificate writes a new certificate to the files of a Secret and returns it.
func writeCertificate(t *testing.T, folder string) *tls.Certificate {
	t.Helper()
	pair, err := selfSigned()
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		corev1.TLSCertKey: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, corev1.TLSPrivateKeyKey: {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return pair
}

// A server picks up a changed certificate from its files. If the new files are unusable, it keeps the old one.
func TestCertificateFollowsFiles(t *testing.T) {
	folder := t.TempDir()
	first := writeCertificate(t, folder)
	synctest.Test(t, func(t *testing.T) {
		config, err := TLS(folder)
		if err != nil {
			t.Fatal(err)
		}
		expect := func(when string, want *tls.Certificate) {
			t.Helper()
			if got, err := config.GetCertificate(nil); err != nil || string(got.Certificate[0]) != string(want.Certificate[0]) {
				t.Errorf("%s: the server has another certificate than the expected one, error %v", when, err)
			}
		}
		expect("at first", first)
		second := writeCertificate(t, folder)
		time.Sleep(rereadAfter)
		expect("after a change", second)
		third := writeCertificate(t, folder)
		key := filepath.Join(folder, corev1.TLSPrivateKeyKey)
		content, err := os.ReadFile(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(key, content[:len(content)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rereadAfter)
		expect("with half of a key", second)
		if err := os.WriteFile(key, content, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rereadAfter)
		expect("with the whole key", third)
	})
}

// A TLS server presents its certificate and does not serve plain HTTP.
func TestEncryptedServer(t *testing.T) {
	_, ctx := ktesting.NewTestContext(t)
	config, err := TLS("")
	if err != nil {
		t.Fatal(err)
	}
	server, err := Listen("test", "flag", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Encrypt(config)
	server.Start(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") }))
	defer server.ShutDown(context.WithoutCancel(ctx))
	ours, err := config.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(ours.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, // the name does not match, so the test compares the certificate itself
		VerifyConnection: func(state tls.ConnectionState) error {
			if !state.PeerCertificates[0].Equal(parsed) {
				t.Error("another certificate is presented")
			}
			return nil
		},
	}}}
	read := func(url string) (string, int) {
		response, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body), response.StatusCode
	}
	if body, code := read("https://" + server.listener.Addr().String()); body != "secret" || code != http.StatusOK {
		t.Errorf("over TLS, the response is %d %q", code, body)
	}
	if body, code := read("http://" + server.listener.Addr().String()); code != http.StatusBadRequest {
		t.Errorf("over plain HTTP, the response is %d %q, want 400", code, body)
	}
	client.CloseIdleConnections()
}
