package certificates

import (
	"bytes"
	"crypto/x509"
	"slices"
	"time"
)

// step is the next step to take.
type step string

const (
	// stepNone means that there is nothing to do.
	stepNone step = "none"
	// stepReplace creates everything from scratch, because the Secret is missing or unusable.
	stepReplace step = "replace"
	// stepRenew issues a new serving certificate from the same CA.
	stepRenew step = "renew"
	// stepRetire removes CAs from the bundle that are no longer needed.
	stepRetire step = "retire"
	// stepPublish writes the bundle into the configurations.
	stepPublish step = "publish"
	// stepConfirm records that the bundle is in all configurations.
	stepConfirm step = "confirm"
	// stepPromote makes the next CA the current one, which signs serving certificates from then on.
	stepPromote step = "promote"
	// stepIntroduce creates the next CA. It signs nothing yet, but is added to the bundle.
	stepIntroduce step = "introduce"
)

// policy holds the hosts and lifetimes of certificates.
type policy struct {
	// hosts are the names and addresses at which the API server calls the webhooks.
	hosts []string
	// authorityLife is four times servingLife, so that all certificates of an old CA have expired before the next CA has to be replaced.
	servingLife, authorityLife time.Duration
	// delay is the time after which all API servers have seen a bundle.
	delay time.Duration
}

// most is the longest delay. A watch lasts at most ten minutes, so an API server that has missed an event has listed again by then.
const most = 10 * time.Minute

func newPolicy(hosts []string, servingLife time.Duration) policy {
	return policy{hosts: hosts, servingLife: servingLife, authorityLife: 4 * servingLife, delay: min(most, servingLife/10)}
}

// held is what the installed configurations hold.
type held struct {
	// known is false if a configuration could not be read. bundles are the bundles in those that could be read.
	known   bool
	bundles [][]byte
}

// isEverywhere reports whether every configuration that was read holds this bundle.
func (h held) isEverywhere(bundle []byte) bool {
	for _, other := range h.bundles {
		if !bytes.Equal(other, bundle) {
			return false
		}
	}
	return true
}

// decide returns the next step or, if there is none, the time of the next decision. s is the content of the Secret. It is nil if the Secret is
// missing or invalid.
//
// Steps that need no configuration come first: a certificate is renewed even if no configuration can be read or written.
func decide(s *state, h held, now time.Time, p policy) (step, time.Time) {
	if s == nil || !now.Before(s.authority.certificate.NotAfter) {
		return stepReplace, now
	}
	// A certificate that expires with its CA cannot be replaced by one that lasts longer.
	isDue := !now.Before(renewal(s.serving)) && s.authority.endOfIssued(now, p.servingLife).After(s.serving.certificate.NotAfter)
	switch {
	case isDue, !s.serving.serves(p.hosts):
		return stepRenew, now
	case s.isOldUnused(now) && s.isPublished(now, 2*p.delay):
		return stepRetire, now
	case !h.isEverywhere(s.bundle()):
		return stepPublish, now
	case !h.known:
		return stepNone, s.due(now, p)
	case s.published.IsZero(), s.published.After(now.Add(time.Hour)): // no clock is that far off, so the Secret was edited
		return stepConfirm, now
	case s.next != nil && s.isPublished(now, p.delay):
		return stepPromote, now
	case s.next == nil && len(s.old) == 0 && !now.Before(renewal(s.authority)):
		return stepIntroduce, now
	}
	return stepNone, s.due(now, p)
}

// isOldUnused reports whether there are old CAs and all certificates that they signed have expired.
func (s *state) isOldUnused(now time.Time) bool {
	isGood := func(c *x509.Certificate) bool { return now.Before(c.NotAfter) }
	return len(s.old) > 0 && (!now.Before(s.oldUntil) || !slices.ContainsFunc(s.old, isGood))
}

// renewal returns the time at which two thirds of a certificate's lifetime have passed.
func renewal(p *pair) time.Time {
	life := p.certificate.NotAfter.Sub(p.certificate.NotBefore)
	return p.certificate.NotBefore.Add(life / 3 * 2)
}

// due returns the next time at which there may be something to do.
func (s *state) due(now time.Time, p policy) time.Time {
	due := s.authority.certificate.NotAfter
	for _, at := range []time.Time{renewal(s.serving), renewal(s.authority), s.oldUntil, s.published.Add(p.delay), s.published.Add(2 * p.delay)} {
		if at.After(now) && at.Before(due) {
			due = at
		}
	}
	return due
}
