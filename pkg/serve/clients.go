package serve

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
)

// VerifyClients makes a server request client certificates. It refuses the connection of a client whose certificate is not signed by a CA in the
// file. Clients without a certificate can connect. OnlyVerified refuses them where a certificate is required.
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

// OnlyVerified wraps a handler and refuses clients without a verified certificate.
func OnlyVerified(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
			http.Error(w, "a client certificate is needed", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}
