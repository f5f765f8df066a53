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
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// rereadAfter is how often a certificate's files are looked at. A kubelet changes the files of a Secret within a minute or so.
const rereadAfter = 10 * time.Second

// selfSignedFor is longer than any process lives. Nobody can verify such a certificate anyway: it keeps others from reading along.
const selfSignedFor = 10 * 365 * 24 * time.Hour

// certificate is the server's certificate. With a folder it is the one of a mounted Secret, and follows it.
type certificate struct {
	folder string

	mu      sync.Mutex
	current *tls.Certificate
	read    time.Time
}

// TLS is the configuration of a server whose certificate is in tls.crt and tls.key of a folder, or else made up here.
func TLS(folder string) (*tls.Config, error) {
	c := &certificate{folder: folder, read: time.Now()}
	var err error
	if folder == "" {
		c.current, err = selfSigned()
	} else {
		c.current, err = c.load()
	}
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}, nil
}

// get returns the certificate for a new connection. While the files cannot be used, as when only one of them is written, it is the last
// one that could.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.folder == "" || time.Since(c.read) < rereadAfter {
		return c.current, nil
	}
	c.read = time.Now()
	if loaded, err := c.load(); err != nil {
		klog.Background().Error(err, "Keeping the old certificate")
	} else {
		c.current = loaded
	}
	return c.current, nil
}

func (c *certificate) load() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(c.folder, corev1.TLSCertKey), filepath.Join(c.folder, corev1.TLSPrivateKeyKey))
	if err != nil {
		return nil, fmt.Errorf("the certificate in %s cannot be used: %w", c.folder, err)
	}
	return &pair, nil
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
		NotBefore:    now.Add(-time.Hour), // the clock of the one who asks may be behind
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
