package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"
)

const (
	payloadType = "application/vnd.in-toto+json"
	bundleType  = "application/vnd.dev.sigstore.bundle.v0.3+json"
)

// bundle is Sigstore's format around an envelope, for a key that users get from elsewhere.
type bundle struct {
	MediaType string `json:"mediaType"`
	Material  struct {
		PublicKey struct {
			Hint string `json:"hint"`
		} `json:"publicKey"`
	} `json:"verificationMaterial"`
	Envelope *dsse.Envelope `json:"dsseEnvelope"`
}

// verifyingKey adapts an SSH key to the DSSE library.
type verifyingKey struct{ ssh.PublicKey }

// KeyID returns the same fingerprint as ssh-keygen -l.
func (k verifyingKey) KeyID() (string, error) { return ssh.FingerprintSHA256(k.PublicKey), nil }

func (k verifyingKey) Public() crypto.PublicKey {
	return k.PublicKey.(ssh.CryptoPublicKey).CryptoPublicKey()
}

func (k verifyingKey) Verify(_ context.Context, data, signature []byte) error {
	return k.PublicKey.Verify(data, &ssh.Signature{Format: ssh.KeyAlgoED25519, Blob: signature})
}

// encodeBundle returns a bundle with a statement and the key's signature of it.
func encodeBundle(statement, signature []byte, key ssh.PublicKey) ([]byte, error) {
	framed := bundle{MediaType: bundleType, Envelope: &dsse.Envelope{
		PayloadType: payloadType, Payload: base64.StdEncoding.EncodeToString(statement),
		Signatures: []dsse.Signature{{KeyID: ssh.FingerprintSHA256(key), Sig: base64.StdEncoding.EncodeToString(signature)}},
	}}
	framed.Material.PublicKey.Hint = ssh.FingerprintSHA256(key)
	data, err := json.Marshal(framed)
	return append(data, '\n'), err
}

func signStatement(statement []byte, signer ssh.Signer) ([]byte, error) {
	signature, err := signer.Sign(rand.Reader, dsse.PAE(payloadType, statement))
	if err != nil {
		return nil, err
	}
	return encodeBundle(statement, signature.Blob, signer.PublicKey())
}

// openBundle returns the statement in a bundle that the key has signed. The parts that the signature does not cover must be as encodeBundle writes
// them.
func openBundle(data []byte, key ssh.PublicKey) ([]byte, error) {
	var framed bundle
	if err := json.Unmarshal(data, &framed); err != nil {
		return nil, err
	}
	verifier, err := dsse.NewEnvelopeVerifier(verifyingKey{key})
	if err != nil {
		return nil, err
	}
	accepted, statement, err := verifier.VerifyAndDecode(context.Background(), framed.Envelope)
	if err != nil {
		return nil, fmt.Errorf("the statement is not signed by the key %s: %w", ssh.FingerprintSHA256(key), err)
	}
	signature, err := base64.StdEncoding.DecodeString(accepted[0].Sig.Sig)
	if err != nil {
		return nil, err
	}
	again, err := encodeBundle(statement, signature, key)
	if err == nil && !bytes.Equal(again, data) {
		err = errors.New("the bundle contains more than a signed statement")
	}
	return statement, err
}
