package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// WebhookFault is a way in which a webhook fails.
type WebhookFault string

const (
	WebhookSound WebhookFault = ""
	// WebhookDead closes every connection at once.
	WebhookDead WebhookFault = "dead"
	// WebhookHangs accepts requests but never answers.
	WebhookHangs WebhookFault = "hangs"
	// WebhookBabbles answers with something that is not a review.
	WebhookBabbles WebhookFault = "answers garbage"
	// WebhookExpired serves with a certificate that is trusted but has expired.
	WebhookExpired WebhookFault = "serves with an expired certificate"
)

// breaker makes a webhook fail.
type breaker struct {
	expired tls.Certificate

	mu    sync.Mutex
	fault WebhookFault
	ended chan struct{} // closed when the fault ends
}

func (b *breaker) set(fault WebhookFault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		close(b.ended)
	}
	b.fault, b.ended = fault, make(chan struct{})
}

func (b *breaker) get() (WebhookFault, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fault, b.ended
}

// install adds the breaker to a server that has not been started.
func (b *breaker) install(server *httptest.Server) (err error) {
	if b.expired, err = expiredCertificate(); err != nil {
		return err
	}
	server.Listener = closing{server.Listener, b}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // errors here are intended
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if fault, _ := b.get(); fault == WebhookExpired {
			return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{b.expired}}, nil
		}
		return nil, nil // use the server's configuration
	}}
	return nil
}

// before returns a handler that fails while there is a fault.
func (b *breaker) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch fault, ended := b.get(); fault {
		case WebhookHangs:
			select {
			case <-r.Context().Done():
			case <-ended:
			}
		case WebhookBabbles:
			_, _ = w.Write([]byte(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": [1, 2`))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// bundle returns the server's certificate and the expired one.
func (b *breaker) bundle(server *httptest.Server) []byte {
	return slices.Concat(encodeCertificate(server.Certificate().Raw), encodeCertificate(b.expired.Certificate[0]))
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// closing closes connections while the fault is WebhookDead.
type closing struct {
	net.Listener
	breaker *breaker
}

func (c closing) Accept() (net.Conn, error) {
	for {
		connection, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if fault, _ := c.breaker.get(); fault != WebhookDead {
			return connection, nil
		}
		_ = connection.Close()
	}
}

// expiredCertificate returns a certificate for 127.0.0.1 that expired an hour ago.
func expiredCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "expired"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: now.Add(-2 * time.Hour), NotAfter: now.Add(-time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
