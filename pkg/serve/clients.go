package serve

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
)

// VerifyClients makes a server ask clients for a certificate, and end the connection if a client shows one that no CA in the file has signed.
// Clients without a certificate can connect: OnlyVerified refuses them where they need one.
func VerifyClients(config *tls.Config, file string) error {
	authorities, err := follow(func() (*x509.CertPool, error) {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("the CAs of clients cannot be read: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("%s has no CA certificate in it", file)
		}
		return pool, nil
	})
	if err != nil {
		return err
	}
	config.ClientAuth = tls.VerifyClientCertIfGiven
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		current := config.Clone()
		current.ClientCAs = authorities.get()
		return current, nil
	}
	return nil
}

// OnlyVerified is the handler, for clients whose certificate was verified.
func OnlyVerified(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
			http.Error(w, "a client certificate is needed", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}
