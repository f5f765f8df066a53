package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// authorityName is the subject of every CA that this package creates.
const authorityName = "podmanager-webhook-ca"

// The types of PEM blocks.
const certificateBlock, keyBlock = "CERTIFICATE", "PRIVATE KEY"

// pair is a certificate with its key.
type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// newAuthority creates a CA that can sign server certificates, but no other CA.
func newAuthority(now time.Time, life time.Duration) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := newTemplate(authorityName, now, now.Add(life))
	template.KeyUsage = x509.KeyUsageCertSign
	template.BasicConstraintsValid, template.IsCA, template.MaxPathLenZero = true, true, true
	return sign(template, key, template, key)
}

// issue creates a server certificate for these DNS names and addresses. It expires with the CA at the latest.
func (p *pair) issue(hosts []string, now time.Time, life time.Duration) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := newTemplate(hosts[0], now, p.endOfIssued(now, life))
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return sign(template, key, p.certificate, p.key)
}

// endOfIssued returns when a certificate expires that this CA issues now.
func (p *pair) endOfIssued(now time.Time, life time.Duration) time.Time {
	end := now.Add(life).Truncate(time.Second) // the resolution of certificates
	if end.After(p.certificate.NotAfter) {
		return p.certificate.NotAfter
	}
	return end
}

func newTemplate(name string, now, end time.Time) *x509.Certificate {
	// The client's clock may be behind, by up to an hour if certificates live for days.
	behind := min(time.Hour, end.Sub(now)/10)
	if len(name) > 64 {
		name = authorityName // a longer common name is not allowed, and no client uses it
	}
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-behind), NotAfter: end}
}

func sign(template *x509.Certificate, key *ecdsa.PrivateKey, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*pair, error) {
	var err error
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &pair{certificate, key}, nil
}

// serves reports whether the certificate is valid for all of these names and addresses.
func (p *pair) serves(hosts []string) bool {
	for _, host := range hosts {
		if p.certificate.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}

// forServer returns the certificate in the form that a TLS server needs.
func (p *pair) forServer() *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{p.certificate.Raw}, PrivateKey: p.key, Leaf: p.certificate}
}

func (p *pair) encode() (certificate, key []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		return nil, nil, err
	}
	return encodeCertificates(p.certificate), pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der}), nil
}

// parsePair parses a certificate and its key. It fails if they do not belong together.
func parsePair(certificate, key []byte) (*pair, error) {
	certificates, err := parseCertificates(certificate)
	if err != nil {
		return nil, err
	}
	if len(certificates) != 1 {
		return nil, fmt.Errorf("%d certificates, want one", len(certificates))
	}
	block, _ := pem.Decode(key)
	if block == nil || block.Type != keyBlock {
		return nil, errors.New("no private key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !private.PublicKey.Equal(certificates[0].PublicKey) {
		return nil, errors.New("the private key does not belong to the certificate")
	}
	return &pair{certificates[0], private}, nil
}

func encodeCertificates(certificates ...*x509.Certificate) []byte {
	var all []byte
	for _, certificate := range certificates {
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: certificate.Raw})...)
	}
	return all
}

// parseCertificates parses a sequence of PEM certificates.
func parseCertificates(data []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != certificateBlock {
			return nil, fmt.Errorf("a PEM block is %s, not %s", block.Type, certificateBlock)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all = append(all, certificate)
	}
	return all, nil
}
