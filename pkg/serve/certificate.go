package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// selfSignedFor is longer than any process lives. Clients cannot verify a self-signed certificate, so it only protects against eavesdropping.
const selfSignedFor = 10 * 365 * 24 * time.Hour

// TLS returns the configuration of a server whose certificate is in tls.crt and tls.key of a folder. Without a folder, the certificate is
// self-signed.
func TLS(folder string) (*tls.Config, error) {
	if folder == "" {
		certificate, err := selfSigned()
		return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate, nil }}, err
	}
	certificate, err := follow(func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(filepath.Join(folder, corev1.TLSCertKey), filepath.Join(folder, corev1.TLSPrivateKeyKey))
		if err != nil {
			return nil, fmt.Errorf("the certificate in %s cannot be used: %w", folder, err)
		}
		return &pair, nil
	})
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.get(), nil }}, nil
}

func selfSigned() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "podmanager-controller"},
		NotBefore:    now.Add(-time.Hour), // a client's clock may be behind
		NotAfter:     now.Add(selfSignedFor),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
