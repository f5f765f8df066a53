//go:build e2e

package webhook

import (
	"bytes"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness"
)

// The CA is rotated until the old one is removed from the bundle. In the meantime the API server calls one replica, and the test connects to both,
// with the bundle as its trusted CAs. No call fails. The API server has a tenth of the lifetime, 2 s, to see a new CA, which is enough even if it is
// busy. A controller with half the lifetime creates the first CA, so that its successor follows after 25 s.
func TestRotation(t *testing.T) {
	clean(t)
	start(t, "-webhook-cert-lifetime", "10s").ready(t).end(t)
	const life = "20s"
	first, second := start(t, "-webhook-cert-lifetime", life), start(t, "-webhook-cert-lifetime", life)
	kubectl(t, manifest(t, first), "apply", "-f", "-")
	first.ready(t)
	second.ready(t)
	awaitBundle(t)
	awaitCall(t, first)

	counted := first.calls(t)
	applied, handshakes := 0, 0
	signers, most := map[string]int{}, 0
	deadline := time.Now().Add(4 * time.Minute)
	for isOver := false; !isOver && time.Now().Before(deadline); isOver = len(signers) > 1 && authorities(bundle(t)) == 1 {
		apply(t)
		applied++
		trusted := bundle(t)
		most = max(most, authorities(trusted))
		for _, h := range []*hook{first, second} {
			signer, err := h.handshake(trusted)
			if err != nil {
				t.Fatalf("after %d calls: %v", applied, err)
			}
			signers[signer]++
			handshakes++
		}
		time.Sleep(100 * time.Millisecond)
	}
	if reached := first.calls(t) - counted; reached != applied {
		t.Errorf("%d of %d calls of the API server have reached the webhook", reached, applied)
	}
	if len(signers) != 2 || most != 2 || authorities(bundle(t)) != 1 {
		t.Errorf("%d CAs have signed (%v), at most %d were in the bundle, now there are %d; want 2, 2 and 1", len(signers), signers, most, authorities(bundle(t)))
	}
	t.Logf("%d calls of the API server and %d handshakes, by CA: %v", applied, handshakes, signers)
}

// If a user deletes the Secret, the controller creates a new CA, and no call fails in the meantime.
func TestSecretDeleted(t *testing.T) {
	clean(t)
	h := start(t, "-webhook-cert-lifetime", "100s") // the API server has a tenth of that, 10 s, to see a new CA
	kubectl(t, manifest(t, h), "apply", "-f", "-")
	h.ready(t)
	old := awaitBundle(t)
	awaitCall(t, h)
	before := secret(t)
	kubectl(t, "", "delete", "secret", secretName, "--namespace", systemSpace)
	harness.Await(t, "another Secret", func() (any, bool) {
		made := secret(t)
		return made, made != nil && made.UID != before.UID
	})
	if now := secret(t); bytes.Equal(now.Data["ca.crt"], before.Data["ca.crt"]) {
		t.Error("the CA is the same as before")
	}
	counted, applied := h.calls(t), 0
	harness.Await(t, "the old CA to leave the bundle", func() (any, bool) {
		trusted := bundle(t)
		if _, err := h.handshake(trusted); err != nil {
			t.Errorf("a call has failed: %v", err)
		}
		apply(t)
		applied++
		return string(trusted), authorities(trusted) == 1 && !bytes.Equal(trusted, old)
	})
	if reached := h.calls(t) - counted; reached != applied {
		t.Errorf("%d of %d calls of the API server have reached the webhook", reached, applied)
	}
}

// Two processes that start at the same time agree on one Secret, whether or not they run a controller.
func TestStartTogether(t *testing.T) {
	clean(t)
	first, second := start(t), start(t, "-serve=webhook")
	kubectl(t, manifest(t, first), "apply", "-f", "-")
	first.ready(t)
	second.ready(t)
	trusted := awaitBundle(t)
	if authorities(trusted) != 1 {
		t.Errorf("%d CAs in the bundle, want one", authorities(trusted))
	}
	for _, h := range []*hook{first, second} {
		if _, err := h.handshake(trusted); err != nil {
			t.Error(err)
		}
	}
	awaitCall(t, first)
}
