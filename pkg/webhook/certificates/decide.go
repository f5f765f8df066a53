package certificates

import (
	"bytes"
	"crypto/x509"
	"slices"
	"time"
)

// step is the next thing to do.
type step string

const (
	// stepNone: all is well.
	stepNone step = "none"
	// stepReplace makes everything anew: there is nothing, or nothing that could be used.
	stepReplace step = "replace"
	// stepRenew makes another certificate to serve with, by the same CA.
	stepRenew step = "renew"
	// stepRetire takes CAs out of the bundle that nobody needs any more.
	stepRetire step = "retire"
	// stepPublish writes the bundle into the configurations.
	stepPublish step = "publish"
	// stepConfirm records that the bundle is in all configurations.
	stepConfirm step = "confirm"
	// stepPromote lets the next CA take over: it signs what is served from then on.
	stepPromote step = "promote"
	// stepIntroduce makes the next CA. It signs nothing yet, but gets into the bundle.
	stepIntroduce step = "introduce"
)

// policy is how long things live.
type policy struct {
	// hosts are the names and addresses that the API server calls the webhooks by.
	hosts []string
	// authorityLife is at least four times servingLife, so that what an old CA has signed is gone before the next CA gets old.
	servingLife, authorityLife time.Duration
	// delay is how long it takes until all API servers have seen a bundle.
	delay time.Duration
}

// most is the longest delay. A watch lasts ten minutes at the most; an API server that has missed an event lists anew by then.
const most = 10 * time.Minute

func newPolicy(hosts []string, servingLife time.Duration) policy {
	return policy{hosts: hosts, servingLife: servingLife, authorityLife: 4 * servingLife, delay: min(most, servingLife/10)}
}

// held is what the configurations hold that are there.
type held struct {
	// known is false if one of them could not be read. bundles are those of the others.
	known   bool
	bundles [][]byte
}

// isEverywhere tells whether every configuration holds this bundle.
func (h held) isEverywhere(bundle []byte) bool {
	for _, other := range h.bundles {
		if !bytes.Equal(other, bundle) {
			return false
		}
	}
	return true
}

// decide tells the next step, or if there is none, when to decide again. It is given what the Secret holds, or nil if it is not there or
// makes no sense.
//
// What needs no configuration comes first: a certificate is renewed even if no configuration can be read or written.
func decide(s *state, h held, now time.Time, p policy) (step, time.Time) {
	if s == nil || !now.Before(s.authority.certificate.NotAfter) {
		return stepReplace, now
	}
	// A certificate that ends with its CA cannot be replaced by one that lasts longer.
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
	case s.published.IsZero(), s.published.After(now.Add(time.Hour)): // no clock is that wrong: somebody has edited it
		return stepConfirm, now
	case s.next != nil && s.isPublished(now, p.delay):
		return stepPromote, now
	case s.next == nil && len(s.old) == 0 && !now.Before(renewal(s.authority)):
		return stepIntroduce, now
	}
	return stepNone, s.due(now, p)
}

// isOldUnused tells whether there are old CAs, and nothing is left that they have signed.
func (s *state) isOldUnused(now time.Time) bool {
	isGood := func(c *x509.Certificate) bool { return now.Before(c.NotAfter) }
	return len(s.old) > 0 && (!now.Before(s.oldUntil) || !slices.ContainsFunc(s.old, isGood))
}

// renewal is when two thirds of a certificate's life are over.
func renewal(p *pair) time.Time {
	life := p.certificate.NotAfter.Sub(p.certificate.NotBefore)
	return p.certificate.NotBefore.Add(life / 3 * 2)
}

// due is the next time at which something may have to be done.
func (s *state) due(now time.Time, p policy) time.Time {
	due := s.authority.certificate.NotAfter
	for _, at := range []time.Time{renewal(s.serving), renewal(s.authority), s.oldUntil, s.published.Add(p.delay), s.published.Add(2 * p.delay)} {
		if at.After(now) && at.Before(due) {
			due = at
		}
	}
	return due
}
