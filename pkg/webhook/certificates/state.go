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

// state is the content of the Secret.
type state struct {
	// authority has signed the serving certificate.
	authority *pair
	// next will replace authority and is already in the bundle. It is nil most of the time.
	next *pair
	// old are CAs whose certificates a replica may still serve. Their keys are gone.
	old      []*x509.Certificate
	oldUntil time.Time
	// serving is the certificate that replicas serve.
	serving *pair
	// published is when the newest CA was first seen in all bundles. It is zero if it was not seen yet.
	published time.Time
}

// bundle returns the CAs that API servers have to trust. They are sorted by age, so that the bundle does not change when a CA is promoted.
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

// isTrusted reports whether API servers have seen the CA of the serving certificate.
func (s *state) isTrusted(now time.Time, delay time.Duration) bool {
	if s.next != nil {
		return true // published refers to next, which is introduced only after authority was published
	}
	return s.isPublished(now, delay)
}

// isPublished reports whether the newest CA has been in all bundles for that long.
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

// parseState parses the data of the Secret. Any invalid part is an error, even if the rest is valid: a partial state is meaningless.
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

// check returns an error if the parts do not belong together.
func (s *state) check() error {
	if !s.authority.certificate.IsCA || s.next != nil && !s.next.certificate.IsCA {
		return errors.New("ca.crt or next-ca.crt is not a CA certificate")
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
