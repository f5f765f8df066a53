package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// otherNamespace signs the checksums like ssh-keygen -Y sign -n file.
func otherNamespace(signer ssh.Signer) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		signature, err := sshsig.Sign(strings.NewReader(read(t, folder, sumsFile)), signer, sshsig.HashSHA512, "file")
		if err != nil {
			t.Fatal(err)
		}
		write(t, folder, signatureFile, string(sshsig.Armor(signature)))
	}
}

func TestReadSigners(t *testing.T) {
	a, b := testKey(t, 'a').PublicKey(), testKey(t, 'b').PublicKey()
	keyA, keyB := string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(a))), string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(b)))
	for name, test := range map[string]struct {
		text string
		keys []ssh.PublicKey
		err  string
	}{
		"as attest key prints it": {signerLine(a) + "\n", []ssh.PublicKey{a}, ""},
		"two, and a comment":      {"# Keys.\n\nrelease " + keyA + " release@example\nrelease " + keyB, []ssh.PublicKey{a, b}, ""},
		"of several principals":   {"me@example.com,release " + keyA, []ssh.PublicKey{a}, ""},
		"several namespaces":      {`release namespaces="git,podmanager-release" ` + keyA, []ssh.PublicKey{a}, ""},
		"another principal":       {"me@example.com " + keyA, nil, "no key of releases"},
		"another namespace":       {`release namespaces="git" ` + keyA, nil, "no key of releases"},
		"another option":          {`release valid-before="20260101" ` + keyA, nil, "valid-before"},
		"no key":                  {"release ssh-ed25519 AAAA", nil, "release ssh-ed25519 AAAA"},
		"commented out":           {"# release " + keyA, nil, "no key of releases"},
		"empty":                   {"", nil, "no key of releases"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readSigners(write(t, t.TempDir(), "allowed_signers", test.text))
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if len(got) != len(test.keys) {
				t.Fatalf("%d keys, want %d", len(got), len(test.keys))
			}
			for i := range got {
				if !same(got[i], test.keys[i]) {
					t.Errorf("the key %d is not the expected one", i)
				}
			}
		})
	}
}

// writeKey returns the path of a file with a test key.
func writeKey(t *testing.T, seed byte) string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize)), "")
	if err != nil {
		t.Fatal(err)
	}
	return write(t, t.TempDir(), "release", string(pem.EncodeToMemory(block)))
}

func TestOpenKey(t *testing.T) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte("a"), ed25519.SeedSize))
	public := testKey(t, 'a').PublicKey()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encoded := func(block *pem.Block, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(block))
	}
	for name, test := range map[string]struct{ text, err string }{
		"private":                      {encoded(ssh.MarshalPrivateKey(private, "")), ""},
		"public":                       {string(ssh.MarshalAuthorizedKey(public)), ""},
		"public, and not in the agent": {string(ssh.MarshalAuthorizedKey(testKey(t, 'b').PublicKey())), "the agent does not have"},
		"with a passphrase":            {encoded(ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("secret"))), "ssh-add"},
		"of another type":              {encoded(ssh.MarshalPrivateKey(other, "")), "must be ssh-ed25519"},
		"something else":               {"hello", "no key found"},
	} {
		t.Run(name, func(t *testing.T) {
			serveAgent(t, private)
			got, err := openKey(write(t, t.TempDir(), "key", test.text))
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if err != nil {
				return
			}
			if _, _, err := verify(signed(t, got, testBuild), []ssh.PublicKey{public}); err != nil {
				t.Errorf("a release that the key signed is refused: %v", err)
			}
		})
	}
	t.Setenv("SSH_AUTH_SOCK", "")
	if _, err := openKey(write(t, t.TempDir(), "key.pub", string(ssh.MarshalAuthorizedKey(public)))); err == nil || !strings.Contains(err.Error(), "SSH_AUTH_SOCK") {
		t.Errorf("without an agent: error %v", err)
	}
}

// serveAgent runs an agent with one key until the test ends.
func serveAgent(t *testing.T, key ed25519.PrivateKey) {
	t.Helper()
	keys := agent.NewKeyring()
	if err := keys.Add(agent.AddedKey{PrivateKey: &key}); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "agent")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go agent.ServeAgent(keys, connection) //nolint:errcheck // it ends with the connection
		}
	}()
	t.Setenv("SSH_AUTH_SOCK", socket)
}
