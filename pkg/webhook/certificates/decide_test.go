package certificates

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

// servingLife is the lifetime of a serving certificate. A CA lives for 3600 h. Two thirds of these lifetimes have passed after almost 600 h and
// 2400 h, because both start an hour in the past.
const servingLife = 900 * time.Hour

// start is the time at which the first CA was created.
var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// at returns the time that many hours after start.
func at(hours float64) time.Time {
	return start.Add(time.Duration(hours * float64(time.Hour)))
}

// made returns a state whose CAs and certificate were created at the given hours. A negative hour means none.
func made(t *testing.T, p policy, authority, serving, next, old float64) *state {
	t.Helper()
	must := func(made *pair, err error) *pair {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	s := &state{authority: must(newAuthority(at(authority), p.authorityLife)), published: at(authority)}
	s.serving = must(s.authority.issue(p.hosts, at(serving), p.servingLife))
	if next >= 0 {
		s.next = must(newAuthority(at(next), p.authorityLife))
	}
	if old >= 0 {
		s.old = []*x509.Certificate{must(newAuthority(at(old), p.authorityLife)).certificate}
	}
	return s
}

func TestDecide(t *testing.T) {
	p := newPolicy([]string{testHost}, servingLife)
	fresh := made(t, p, 0, 0, -1, -1)
	unpublished := made(t, p, 0, 0, -1, -1)
	unpublished.published = time.Time{}
	aged := made(t, p, 0, 2300, -1, -1)
	following := made(t, p, 0, 2300, 2400, -1) // published at 2401
	following.published = at(2401)
	unseen := made(t, p, 0, 2300, 2400, -1)
	unseen.published = time.Time{}
	promoted := made(t, p, 2400, 2402, -1, 0)
	promoted.published, promoted.oldUntil = at(2401), at(3302)
	replaced := made(t, p, 0, 0, -1, 0)
	replaced.published, replaced.oldUntil = at(5), at(0)
	edited := made(t, p, 2400, 3601, -1, 0) // the old CA expires at 3600
	edited.published, edited.oldUntil = at(2401), at(1e6)
	future := made(t, p, 0, 0, -1, -1)
	future.published = at(1e6)
	lastOnes := made(t, p, 0, 3500, -1, -1) // expires with its CA, at 3600
	renamed := made(t, newPolicy([]string{"other"}, servingLife), 0, 0, -1, -1)

	// delayed is slightly more than the delay of 10 minutes, in hours.
	const delayed = 1.001 / 6
	everywhere := func(s *state) held { return held{true, [][]byte{s.bundle(), s.bundle()}} }
	nowhere, unknown, absent := held{true, [][]byte{nil}}, held{}, held{known: true}
	tests := map[string]struct {
		state *state
		held  held
		now   float64
		want  step
		due   float64 // for stepNone
	}{
		"nothing is there":                  {nil, absent, 0, stepReplace, 0},
		"nothing is known":                  {nil, unknown, 0, stepReplace, 0},
		"just made":                         {unpublished, nowhere, 0, stepPublish, 0},
		"in one of two":                     {unpublished, held{true, [][]byte{unpublished.bundle(), nil}}, 0, stepPublish, 0},
		"in both":                           {unpublished, everywhere(unpublished), 0, stepConfirm, 0},
		"none is installed":                 {unpublished, absent, 0, stepConfirm, 0},
		"just made, cannot be read":         {unpublished, unknown, 0, stepNone, 599.66},
		"all is well":                       {fresh, everywhere(fresh), 1, stepNone, 599.66},
		"overwritten":                       {fresh, nowhere, 1, stepPublish, 0},
		"before two thirds":                 {fresh, everywhere(fresh), 599, stepNone, 599.66},
		"two thirds of the certificate":     {fresh, everywhere(fresh), 600, stepRenew, 0},
		"due, and cannot be read":           {fresh, unknown, 600, stepRenew, 0},
		"due, and overwritten":              {fresh, nowhere, 600, stepRenew, 0},
		"the certificate has ended":         {fresh, everywhere(fresh), 901, stepRenew, 0},
		"another name":                      {renamed, everywhere(renamed), 1, stepRenew, 0},
		"before two thirds of the CA":       {aged, everywhere(aged), 2399, stepNone, 2399.66},
		"two thirds of the CA":              {aged, everywhere(aged), 2400, stepIntroduce, 0},
		"two thirds, not to be read":        {aged, unknown, 2400, stepNone, 2899.66},
		"the next CA is not everywhere":     {unseen, everywhere(aged), 2400, stepPublish, 0},
		"the next CA is everywhere":         {unseen, everywhere(unseen), 2400.5, stepConfirm, 0},
		"not seen for long enough":          {following, everywhere(following), 2401 + delayed/2, stepNone, 2401 + delayed},
		"seen for long enough":              {following, everywhere(following), 2401 + delayed, stepPromote, 0},
		"long enough, but overwritten":      {following, nowhere, 2401 + delayed, stepPublish, 0},
		"the old one may still be in use":   {promoted, everywhere(promoted), 2500, stepNone, 3001.66},
		"the old one is not used any more":  {promoted, everywhere(promoted), 3302, stepRenew, 0},
		"replaced, not seen by all":         {replaced, everywhere(replaced), 5 + delayed, stepNone, 5 + 2*delayed},
		"replaced, and seen by all":         {replaced, everywhere(replaced), 5 + 2*delayed, stepRetire, 0},
		"retired also if not to be read":    {replaced, unknown, 5 + 2*delayed, stepRetire, 0},
		"an old CA that has ended":          {edited, everywhere(edited), 3602, stepRetire, 0},
		"one of two cannot be read":         {fresh, held{false, [][]byte{nil}}, 1, stepPublish, 0},
		"published in the far future":       {future, everywhere(future), 1, stepConfirm, 0},
		"nothing can last longer":           {lastOnes, unknown, 3599, stepNone, 3600},
		"the CA has ended":                  {lastOnes, everywhere(lastOnes), 3600, stepReplace, 0},
		"the CA has ended, not to be read":  {lastOnes, unknown, 3600, stepReplace, 0},
		"the CA has ended, and another one": {following, everywhere(following), 3601, stepReplace, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, due := decide(test.state, test.held, at(test.now), p)
			if got != test.want {
				t.Fatalf("got %s, want %s", got, test.want)
			}
			if off := due.Sub(at(test.due)).Abs(); got == stepNone && off > time.Minute {
				t.Errorf("due after %v, want %v h", due.Sub(start), test.due)
			}
		})
	}
}

// The steps follow each other, and then there is nothing to do until something is due.
func TestStepsFollowEachOther(t *testing.T) {
	p := newPolicy([]string{testHost}, servingLife)
	var s *state
	h := held{true, [][]byte{nil}}
	var done []step
	for now := start; len(done) < 30 && now.Before(at(3*3600)); {
		next, due := decide(s, h, now, p)
		switch next {
		case stepNone:
			if !due.After(now) {
				t.Fatalf("after %v, there is nothing to do, but the next decision is due at once", now.Sub(start))
			}
			now = due
			continue
		case stepPublish:
			h.bundles[0] = s.bundle()
		default:
			var err error
			if s, err = change(s, next, h, now, p); err != nil {
				t.Fatal(err)
			}
			data, err := s.encode()
			if err != nil {
				t.Fatal(err)
			}
			if s, err = parseState(data); err != nil { // as the next replica reads it
				t.Fatalf("the state after the step %s cannot be parsed: %v", next, err)
			}
		}
		if len(done) == 0 || done[len(done)-1] != stepRenew || next != stepRenew {
			done = append(done, next)
		}
	}
	rotation := []step{stepRenew, stepIntroduce, stepPublish, stepConfirm, stepPromote, stepRenew, stepRetire, stepPublish}
	want := append([]step{stepReplace, stepPublish, stepConfirm}, rotation...)
	for i := range want {
		if i >= len(done) || done[i] != want[i] {
			t.Fatalf("the steps are\n%v, want them to begin with\n%v", done, want)
		}
	}
}

func TestChange(t *testing.T) {
	p := newPolicy([]string{testHost}, servingLife)
	before := made(t, p, 0, 0, 2400, -1)
	after, err := change(before, stepPromote, held{}, at(2500), p)
	if err != nil {
		t.Fatal(err)
	}
	if !after.authority.certificate.Equal(before.next.certificate) || after.next != nil {
		t.Error("the next CA has not taken over")
	}
	if err := after.check(); err != nil {
		t.Errorf("the certificate is not signed by the new CA: %v", err)
	}
	if !bytes.Equal(after.bundle(), before.bundle()) {
		t.Error("the promotion of the next CA has changed the bundle")
	}
	if !after.oldUntil.Equal(at(3400)) {
		t.Errorf("the old CA stays for %v, want until its last certificate expires", after.oldUntil.Sub(at(2500)))
	}
	if data, err := after.encode(); err != nil || bytes.Contains(bytes.Join([][]byte{data["old-ca.crt"], data["old-ca.key"]}, nil), []byte("PRIVATE")) {
		t.Errorf("the private key of the old CA is still in the Secret, error %v", err)
	}

	// If two replicas have different names for the server, the certificate ends up with both.
	other := newPolicy([]string{"other", "127.0.0.1"}, servingLife)
	first, err := change(before, stepRenew, held{}, at(1), other)
	if err != nil || !first.serving.serves(other.hosts) || !first.serving.serves(p.hosts) {
		t.Errorf("the certificate is for %v %v, want the names of both replicas; error %v",
			first.serving.certificate.DNSNames, first.serving.certificate.IPAddresses, err)
	}
	if next, _ := decide(first, held{}, at(1), p); next != stepNone {
		t.Errorf("the next step of the other replica is %s, want none", next)
	}
}
