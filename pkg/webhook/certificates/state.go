package certificates

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The keys of the Secret's data.
const (
	authorityKey, authorityPrivateKey = "ca.crt", "ca.key"
	nextKey, nextPrivateKey           = "next-ca.crt", "next-ca.key"
	oldKey, oldUntilKey               = "old-ca.crt", "old-ca.until"
	publishedKey                      = "published"
)

// state is what the Secret holds.
type state struct {
	// authority has signed the certificate that is served.
	authority *pair
	// next will follow it, and is already in the bundle. It is nil most of the time.
	next *pair
	// old are CAs that have signed what a replica may still serve. Their keys are gone.
	old      []*x509.Certificate
	oldUntil time.Time
	// serving is the certificate that replicas serve with.
	serving *pair
	// published is when the newest CA was first seen in all bundles; zero if it was not.
	published time.Time
}

// bundle is what API servers have to trust. Its order is that of age, so that it stays as it is when one CA follows the other.
func (s *state) bundle() []byte {
	all := []*x509.Certificate{s.authority.certificate}
	if s.next != nil {
		all = append(all, s.next.certificate)
	}
	all = append(all, s.old...)
	slices.SortFunc(all, func(a, b *x509.Certificate) int {
		return cmp.Or(a.NotBefore.Compare(b.NotBefore), bytes.Compare(a.Raw, b.Raw))
	})
	return encodeCertificates(all...)
}

// isTrusted tells whether API servers have seen the CA of the certificate that is served.
func (s *state) isTrusted(now time.Time, delay time.Duration) bool {
	if s.next != nil {
		return true // published is about the next one, which comes only after this one was published
	}
	return s.isPublished(now, delay)
}

// isPublished tells whether the newest CA has been in all bundles for so long.
func (s *state) isPublished(now time.Time, since time.Duration) bool {
	return !s.published.IsZero() && !now.Before(s.published.Add(since))
}

func (s *state) encode() (map[string][]byte, error) {
	data := map[string][]byte{}
	var err error
	put := func(p *pair, certificate, key string) {
		if p != nil && err == nil {
			data[certificate], data[key], err = p.encode()
		}
	}
	put(s.authority, authorityKey, authorityPrivateKey)
	put(s.next, nextKey, nextPrivateKey)
	put(s.serving, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	if len(s.old) > 0 {
		data[oldKey], data[oldUntilKey] = encodeCertificates(s.old...), encodeTime(s.oldUntil)
	}
	if !s.published.IsZero() {
		data[publishedKey] = encodeTime(s.published)
	}
	return data, err
}

// parseState reads the data of the Secret. Whatever cannot be used is an error, also if the rest could: half of a state has no meaning.
func parseState(data map[string][]byte) (*state, error) {
	s := &state{}
	var problems []error
	take := func(p **pair, certificate, key string) {
		var err error
		if *p, err = parsePair(data[certificate], data[key]); err != nil {
			problems = append(problems, fmt.Errorf("%s, %s: %w", certificate, key, err))
		}
	}
	take(&s.authority, authorityKey, authorityPrivateKey)
	take(&s.serving, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	if len(data[nextKey])+len(data[nextPrivateKey]) > 0 {
		take(&s.next, nextKey, nextPrivateKey)
	}
	var err error
	if s.published, err = parseTime(data[publishedKey]); err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", publishedKey, err))
	}
	if s.oldUntil, err = parseTime(data[oldUntilKey]); err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", oldUntilKey, err))
	}
	if s.old, err = parseCertificates(data[oldKey]); err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", oldKey, err))
	}
	if len(problems) == 0 {
		problems = append(problems, s.check())
	}
	return s, errors.Join(problems...)
}

// check tells whether the parts belong together.
func (s *state) check() error {
	if !s.authority.certificate.IsCA || s.next != nil && !s.next.certificate.IsCA {
		return errors.New("what should be a CA is none")
	}
	if err := s.serving.certificate.CheckSignatureFrom(s.authority.certificate); err != nil {
		return fmt.Errorf("%s is not signed by %s: %w", corev1.TLSCertKey, authorityKey, err)
	}
	return nil
}

func encodeTime(t time.Time) []byte {
	return []byte(t.UTC().Format(time.RFC3339))
}

func parseTime(text []byte) (time.Time, error) {
	if len(text) == 0 {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, string(text))
}
