package certificates

import (
	"crypto/x509"
	"slices"
	"time"
)

// change returns the state after a step. It does not modify s.
func change(s *state, next step, h held, now time.Time, p policy) (*state, error) {
	changed := &state{}
	if s != nil {
		*changed = *s
	}
	var err error
	switch next {
	case stepReplace:
		return replace(h, now, p)
	case stepRenew:
		changed.serving, err = s.authority.issue(p.hostsWith(s.serving), now, p.servingLife)
	case stepRetire:
		changed.old, changed.oldUntil = nil, time.Time{}
	case stepConfirm:
		changed.published = now
	case stepIntroduce:
		changed.next, err = newAuthority(now, p.authorityLife)
		changed.published = time.Time{}
	case stepPromote:
		changed.authority, changed.next = s.next, nil
		// A replica that cannot read the Secret keeps serving its certificate until that expires. The old CA stays in the bundle for as long.
		changed.old, changed.oldUntil = []*x509.Certificate{s.authority.certificate}, s.authority.endOfIssued(now, p.servingLife)
		changed.serving, err = changed.authority.issue(p.hosts, now, p.servingLife)
	}
	return changed, err
}

// replace creates everything from scratch. Replicas that have a certificate keep serving it until all API servers trust the new CA. Our CAs stay
// in the bundle until then, but no longer: a user who deletes the Secret declares its keys compromised.
func replace(h held, now time.Time, p policy) (*state, error) {
	s := &state{oldUntil: now}
	for _, bundle := range h.bundles {
		all, err := parseCertificates(bundle)
		if err != nil {
			continue // not a valid bundle
		}
		for _, found := range all {
			isOurs := found.IsCA && found.Subject.CommonName == authorityName && now.Before(found.NotAfter)
			if isOurs && !slices.ContainsFunc(s.old, found.Equal) {
				s.old = append(s.old, found)
			}
		}
	}
	var err error
	if s.authority, err = newAuthority(now, p.authorityLife); err == nil {
		s.serving, err = s.authority.issue(p.hosts, now, p.servingLife)
	}
	return s, err
}

// hostsWith returns all names of a new certificate. If the previous certificate lacked one of our names, its names are kept: they belong to a
// replica with other flags, and the two replicas would otherwise replace each other's certificates forever.
func (p policy) hostsWith(before *pair) []string {
	if before.serves(p.hosts) {
		return p.hosts
	}
	hosts := slices.Clone(p.hosts)
	hosts = append(hosts, before.certificate.DNSNames...)
	for _, address := range before.certificate.IPAddresses {
		hosts = append(hosts, address.String())
	}
	slices.Sort(hosts[1:]) // the first is the common name of the certificate
	return slices.Compact(hosts)
}
