package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

const (
	// principal is the name of the release keys in allowed_signers: ssh-keygen -Y verify -I release.
	principal = "release"
	// namespace ensures that a signature by the same key on anything else, such as a commit, does not count as the signature of a release.
	namespace = "podmanager-release"
)

// openKey returns a signer: the private key in a file or, if the file has a public key, the agent that holds the private key.
func openKey(path string) (ssh.Signer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if public, err := parsePublicKey(data); err == nil {
		return agentSigner(public)
	}
	signer, err := ssh.ParsePrivateKey(data)
	if missing := new(ssh.PassphraseMissingError); errors.As(err, &missing) {
		return nil, fmt.Errorf("%s has a passphrase: ssh-add it to an agent, and name its public key instead", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return signer, checkType(signer.PublicKey())
}

func agentSigner(key ssh.PublicKey) (ssh.Signer, error) {
	connection, err := net.Dial("unix", os.Getenv("SSH_AUTH_SOCK"))
	if err != nil {
		return nil, fmt.Errorf("the file has a public key, so an agent has to sign, but SSH_AUTH_SOCK names none: %w", err)
	}
	signers, err := agent.NewClient(connection).Signers() // the connection stays open until the program ends
	if err != nil {
		return nil, err
	}
	for _, signer := range signers {
		if same(signer.PublicKey(), key) {
			return signer, nil
		}
	}
	return nil, fmt.Errorf("the agent does not have the key %s: ssh-add it", ssh.FingerprintSHA256(key))
}

func parsePublicKey(data []byte) (ssh.PublicKey, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		return nil, err
	}
	return key, checkType(key)
}

func checkType(key ssh.PublicKey) error {
	if key.Type() != ssh.KeyAlgoED25519 {
		return fmt.Errorf("the key is of type %s, but must be %s: ssh-keygen -t ed25519", key.Type(), ssh.KeyAlgoED25519)
	}
	return nil
}

// readSigners reads the release keys from a file in the format of allowed_signers: principals, options, key. Lines for other principals or
// namespaces do not count. The only supported option is namespaces, and a line with another one is an error.
func readSigners(path string) ([]ssh.PublicKey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var keys []ssh.PublicKey
	for line := range strings.Lines(string(data)) {
		principals, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(principals, "#") || !slices.Contains(strings.Split(principals, ","), principal) {
			continue
		}
		key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
		if err == nil {
			err = checkType(key)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w in %q", path, err, line)
		}
		counts := true
		for _, option := range options {
			names, ok := strings.CutPrefix(option, "namespaces=")
			if !ok {
				return nil, fmt.Errorf("%s: the option %s is not supported", path, option)
			}
			counts = slices.Contains(strings.Split(strings.Trim(names, `"`), ","), namespace)
		}
		if counts {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no key of releases: attest key prints the line for one", path)
	}
	return keys, nil
}

// signerLine returns the line of allowed_signers for a key.
func signerLine(key ssh.PublicKey) string {
	return fmt.Sprintf("%s namespaces=%q %s", principal, namespace, bytes.TrimSpace(ssh.MarshalAuthorizedKey(key)))
}

// pemOf returns a key in the format that cosign reads. OpenSSH cannot write an Ed25519 key in this format.
func pemOf(key ssh.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key.(ssh.CryptoPublicKey).CryptoPublicKey())
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), err
}

func contains(keys []ssh.PublicKey, key ssh.PublicKey) bool {
	return slices.ContainsFunc(keys, func(one ssh.PublicKey) bool { return same(one, key) })
}

func same(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }
