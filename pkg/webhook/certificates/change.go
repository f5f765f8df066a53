package certificates

import (
	"crypto/x509"
	"slices"
	"time"
)

// change is the state after a step. The state that is given stays as it is.
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
		// A replica that cannot read the Secret serves on with what it has, until that ends. The old CA stays in the bundle for as long.
		changed.old, changed.oldUntil = []*x509.Certificate{s.authority.certificate}, s.authority.endOfIssued(now, p.servingLife)
		changed.serving, err = changed.authority.issue(p.hosts, now, p.servingLife)
	}
	return changed, err
}

// replace makes everything anew. Replicas that have a certificate serve on with it until the new CA is known everywhere, so that CAs of
// ours stay in the bundle until then. No longer: deleting the Secret is how somebody says that its keys are not to be trusted any more.
func replace(h held, now time.Time, p policy) (*state, error) {
	s := &state{oldUntil: now}
	for _, bundle := range h.bundles {
		all, err := parseCertificates(bundle)
		if err != nil {
			continue // somebody's garbage
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

// hostsWith are all names of a new certificate. If a name was missing in the one before, that one's names are kept: they are those of another
// replica, which would otherwise put them back, without end.
func (p policy) hostsWith(before *pair) []string {
	if before.serves(p.hosts) {
		return p.hosts
	}
	hosts := slices.Clone(p.hosts)
	hosts = append(hosts, before.certificate.DNSNames...)
	for _, address := range before.certificate.IPAddresses {
		hosts = append(hosts, address.String())
	}
	slices.Sort(hosts[1:]) // the first gives the certificate its name
	return slices.Compact(hosts)
}
