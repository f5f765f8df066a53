package certificates

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lag is how long an API server may take to see a bundle: the delay, minus the time that requests take.
const lag = testLife/10 - time.Second

// settled is the time that replicas need to finish what is due.
const settled = 5 * time.Second

// The CA is rotated ten times while lagging API servers call all the time, and no call fails. One replica starts in the middle, and another one
// cannot reach the API server while the CA changes.
func TestTenRotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		first, second := w.start(t), w.start(t)
		pass(lag + settled) // an API server that has never seen a bundle cannot trust any replica
		const rotation = testLife*4*2/3 + testLife/10
		seen := map[string]bool{}
		for range 10 {
			before := w.state(t).authority.certificate
			if failed, err := w.stream(rotation-testLife/5, lag, first, second); failed > 0 {
				t.Fatalf("%d calls failed, such as: %v", failed, err)
			}
			second.link.cut(true)
			if failed, err := w.stream(2*testLife/5, lag, first, second); failed > 0 {
				t.Fatalf("%d calls failed while a replica was cut off, such as: %v", failed, err)
			}
			second.link.cut(false)
			third := w.start(t)
			pass(settled) // it is not ready before that
			if failed, err := w.stream(testLife/5, lag, first, second, third); failed > 0 {
				t.Fatalf("%d calls failed after another replica has started, such as: %v", failed, err)
			}
			third.stop()
			after := w.state(t).authority.certificate
			if after.Equal(before) {
				t.Fatalf("the CA is still the same after %v", rotation)
			}
			seen[string(after.Raw)] = true
			expectServing(t, w, first, second)
		}
		if len(seen) != 10 {
			t.Errorf("there were %d CAs, want 10", len(seen))
		}
		for _, held := range w.bundles {
			if all, err := parseCertificates(held.bundle); err != nil || len(all) > 2 {
				t.Errorf("a bundle had %d CAs (%v), want at most two", len(all), err)
			}
		}
		if w.creates != 1 {
			t.Errorf("the Secret was created %d times, want once", w.creates)
		}
	})
}

// If an API server lags by more than the delay, calls fail. So TestTenRotations would detect a certificate that is served too early.
func TestAPIServerTooFarBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		r := w.start(t)
		pass(4 * testLife / 10)
		if failed, _ := w.stream(4*testLife, 3*testLife/10, r); failed == 0 {
			t.Error("API servers that have not seen the new CA still trust it")
		}
	})
}

// Replicas that start at the same time agree on one Secret, and the API server trusts all of them.
func TestReplicasStartTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		replicas := []*replica{w.start(t), w.start(t), w.start(t)}
		pass(settled)
		if w.creates != 1 {
			t.Errorf("the Secret was created %d times, want once", w.creates)
		}
		expectServing(t, w, replicas...)
		if failed, err := w.stream(time.Minute, 0, replicas...); failed > 0 {
			t.Errorf("%d calls failed, such as: %v", failed, err)
		}
		if w.version != 3 {
			t.Errorf("%d writes at the start, want three: the Secret, the bundle, and the time of publication", w.version)
		}
	})
}

// If a user deletes the Secret, there is a new CA, no call fails, and the old CA is trusted no longer than needed.
func TestSecretDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		first, second := w.start(t), w.start(t)
		pass(lag + settled)
		before := w.state(t)
		w.setSecret(nil)
		pass(settled)
		after := w.state(t)
		if after.authority.certificate.Equal(before.authority.certificate) {
			t.Error("the CA is the same as before")
		}
		if !bytes.Equal(w.bundle(), after.bundle()) || w.authorities(t) != 2 {
			t.Errorf("the bundle has %d CAs, want the new one and the old one", w.authorities(t))
		}
		if failed, err := w.stream(testLife/2, lag, first, second); failed > 0 {
			t.Errorf("%d calls failed, such as: %v", failed, err)
		}
		expectServing(t, w, first, second)
		if w.authorities(t) != 1 || !bytes.Equal(w.bundle(), w.state(t).bundle()) {
			t.Errorf("the bundle still has %d CAs, want the new one alone", w.authorities(t))
		}
	})
}

// If the content of the Secret is invalid, it is created again, and no call fails.
func TestGarbageInSecret(t *testing.T) {
	change := func(key, value string) func(map[string][]byte) {
		return func(data map[string][]byte) { data[key] = []byte(value) }
	}
	swap := func(a, b string) func(map[string][]byte) {
		return func(data map[string][]byte) { data[a], data[b] = data[b], data[a] }
	}
	tests := map[string]func(map[string][]byte){
		"nothing":                func(data map[string][]byte) { clear(data) },
		"no key":                 func(data map[string][]byte) { delete(data, "tls.key") },
		"no certificate":         func(data map[string][]byte) { delete(data, "tls.crt") },
		"no CA":                  func(data map[string][]byte) { delete(data, "ca.crt") },
		"no PEM":                 change("tls.crt", "x"),
		"half a PEM":             func(data map[string][]byte) { data["ca.crt"] = data["ca.crt"][:100] },
		"PEM of garbage":         change("ca.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
		"keys swapped":           swap("ca.key", "tls.key"),
		"CA and served swapped":  func(data map[string][]byte) { swap("ca.key", "tls.key")(data); swap("ca.crt", "tls.crt")(data) },
		"no time":                change("published", "soon"),
		"garbage of the next CA": change("next-ca.crt", "x"),
		"garbage of the old CA":  change("old-ca.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
		"a key as the old CA":    func(data map[string][]byte) { data["old-ca.crt"] = data["ca.key"] },
		"the next CA signs alone": func(data map[string][]byte) {
			data["next-ca.crt"], data["next-ca.key"] = data["tls.crt"], data["tls.key"]
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				r := w.start(t)
				pass(lag + settled)
				before := w.state(t).authority.certificate
				data := maps.Clone(w.secret.Data)
				spoil(data)
				w.setSecret(data)
				pass(settled)
				if w.state(t).authority.certificate.Equal(before) {
					t.Error("the CA is the same as before")
				}
				if failed, err := w.stream(testLife/2, lag, r); failed > 0 {
					t.Errorf("%d calls failed, such as: %v", failed, err)
				}
				expectServing(t, w, r)
			})
		})
	}
}

// If another client overwrites the bundle, it is restored at once. Foreign CAs are not kept.
func TestBundleOverwritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		r := w.start(t)
		pass(settled)
		want := w.bundle()
		stranger, err := newAuthority(time.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range [][]byte{nil, []byte("x"), encodeCertificates(stranger.certificate), append(bytes.Clone(want), want...)} {
			w.overwrite(other)
			pass(time.Second)
			if !bytes.Equal(w.bundle(), want) {
				t.Errorf("the bundle is %q, want it as it was", w.bundle())
			}
		}
		if err := r.call(w.bundle()); err != nil {
			t.Error(err)
		}
	})
}

// If no configuration is installed, a replica still has a certificate. A configuration that is installed later gets the bundle.
func TestNotInstalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.bundles = nil
		r := w.start(t)
		if _, err := r.Check(); err == nil {
			t.Error("ready without a certificate")
		}
		pass(settled)
		expectServing(t, w, r)
		if len(w.bundles) > 0 {
			t.Error("a bundle was written, although no configuration is installed")
		}
		w.overwrite(nil)
		pass(time.Second)
		if err := r.call(w.bundle()); err != nil {
			t.Error(err)
		}
	})
}

// Without the API server a replica is not ready and reports why. It becomes ready once the API server is back.
func TestAPIServerAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		r := w.start(t)
		r.link.cut(true)
		pass(time.Minute)
		if _, err := r.Check(); err == nil || !strings.Contains(err.Error(), errCut.Error()) {
			t.Errorf("got %v, want %q", err, errCut)
		}
		r.link.cut(false)
		pass(settled + tryAgainAfter)
		expectServing(t, w, r)
		r.link.cut(true)
		pass(2 * testLife)
		if _, err := r.Check(); err == nil || !strings.Contains(err.Error(), "the certificate expired") {
			t.Errorf("got %v, want that the certificate has expired", err)
		}
		r.link.cut(false)
		pass(settled + tryAgainAfter)
		expectServing(t, w, r)
	})
}

// A certificate can expire before the Manager has a reason to report.
func TestExpiredWithoutReason(t *testing.T) {
	m := &Manager{}
	m.current.Store(&tls.Certificate{Leaf: &x509.Certificate{NotAfter: time.Unix(0, 0).UTC()}})
	if _, err := m.Check(); err == nil || err.Error() != "the certificate expired at 1970-01-01T00:00:00Z" {
		t.Errorf("got %v", err)
	}
}

// If all replicas were down until the CA expired, everything is created again.
func TestAllEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.start(t).stop()
		pass(settled)
		r := w.start(t)
		pass(settled)
		r.stop()
		pass(5 * testLife)
		r = w.start(t)
		pass(settled)
		expectServing(t, w, r)
		if w.authorities(t) != 1 {
			t.Errorf("the bundle has %d CAs, want the new one alone", w.authorities(t))
		}
		if err := r.call(w.bundle()); err != nil {
			t.Error(err)
		}
	})
}
