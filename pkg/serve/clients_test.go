package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// clientCertificate creates a self-signed client certificate and writes it to the file as a CA.
func clientCertificate(t *testing.T, file string) []tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
}

// askAs returns the status code that a client with these certificates gets. It is 0 if the connection fails.
func askAs(server *tls.Config, certificates []tls.Certificate, handler http.Handler) int {
	ours, theirs := net.Pipe()
	client := tls.Client(theirs, &tls.Config{InsecureSkipVerify: true, Certificates: certificates})
	go func() {
		_ = client.Handshake()
		_, _ = client.Read(make([]byte, 1)) // read what the server sends after the handshake
	}()
	connection := tls.Server(ours, server)
	defer ours.Close()
	if connection.Handshake() != nil {
		return 0
	}
	state := connection.ConnectionState()
	request, answer := httptest.NewRequest(http.MethodPost, "/", nil), httptest.NewRecorder()
	request.TLS = &state
	handler.ServeHTTP(answer, request)
	return answer.Code
}

// A client certificate must be signed by a CA in the file. Clients without one reach only open paths. The server picks up a changed file.
func TestVerifyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ca.crt")
		stranger, known := clientCertificate(t, file), clientCertificate(t, file)
		config, err := TLS("")
		if err != nil {
			t.Fatal(err)
		}
		if err := VerifyClients(config, file); err != nil {
			t.Fatal(err)
		}
		open := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		expect := func(when string, certificates []tls.Certificate, code, verifiedCode int) {
			t.Helper()
			if got := askAs(config, certificates, open); got != code {
				t.Errorf("%s: an open path answers %d, want %d", when, got, code)
			}
			if got := askAs(config, certificates, OnlyVerified(open)); got != verifiedCode {
				t.Errorf("%s: a path for verified clients answers %d, want %d", when, got, verifiedCode)
			}
		}
		expect("no certificate", nil, 200, 403)
		expect("a certificate of an unknown CA", stranger, 0, 0)
		expect("a certificate", known, 200, 200)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rereadAfter)
		expect("with an empty file", known, 200, 200)
		next := clientCertificate(t, file)
		time.Sleep(rereadAfter)
		expect("the CA before", known, 0, 0)
		expect("the next CA", next, 200, 200)
	})
}

// An unusable file is reported at startup.
func TestVerifyClientsNeedsCAs(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{empty: "has no CA certificate in it", "/nonexistent": "cannot be read"} {
		if err := VerifyClients(&tls.Config{}, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", file, err, want)
		}
	}
	answer := httptest.NewRecorder()
	OnlyVerified(http.NotFoundHandler()).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", nil))
	if answer.Code != http.StatusForbidden {
		t.Errorf("without TLS, the response is %d, want 403", answer.Code)
	}
}
