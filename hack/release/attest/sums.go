package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

const (
	sumsFile       = "SHA256SUMS"
	signatureFile  = "SHA256SUMS.sig"
	provenanceFile = "provenance.sigstore.json"
)

// parseSums parses the output of sha256sum, and returns the checksums by file name.
func parseSums(data []byte) (map[string]string, error) {
	sums := map[string]string{}
	for line := range strings.Lines(string(data)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if decoded, err := hex.DecodeString(sum); !ok || err != nil || len(decoded) != sha256.Size || name != filepath.Base(name) || sums[name] != "" {
			return nil, fmt.Errorf("%s has the line %q, want a checksum and the name of a file that no other line has", sumsFile, line)
		}
		sums[name] = sum
	}
	return sums, nil
}

// checkFiles fails unless the files of the folder match the checksums, and there are no others besides checksums, signature and provenance.
func checkFiles(folder string, sums map[string]string) error {
	for name, want := range sums {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != want {
			return fmt.Errorf("%s does not match its checksum in %s", name, sumsFile)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		// The only folder is the bundle for OLM, which is distributed separately.
		if sums[name] == "" && !entry.IsDir() && name != sumsFile && name != signatureFile && name != provenanceFile {
			return fmt.Errorf("%s is not in %s", name, sumsFile)
		}
	}
	return nil
}

func signSums(sums []byte, signer ssh.Signer) ([]byte, error) {
	signature, err := sshsig.Sign(bytes.NewReader(sums), signer, sshsig.HashSHA512, namespace)
	if err != nil {
		return nil, err
	}
	return sshsig.Armor(signature), nil
}

// verifySums returns the trusted key that has signed the checksums.
func verifySums(sums, armored []byte, trusted []ssh.PublicKey) (ssh.PublicKey, error) {
	signature, err := sshsig.Unarmor(armored)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", signatureFile, err)
	}
	if !contains(trusted, signature.PublicKey) {
		return nil, fmt.Errorf("%s is by the key %s, which is not trusted", signatureFile, ssh.FingerprintSHA256(signature.PublicKey))
	}
	if err := sshsig.Verify(bytes.NewReader(sums), signature, signature.PublicKey, sshsig.HashSHA512, namespace); err != nil {
		return nil, fmt.Errorf("%s does not fit %s: %w", signatureFile, sumsFile, err)
	}
	if !bytes.Equal(armored, sshsig.Armor(signature)) {
		return nil, fmt.Errorf("%s contains more than a signature", signatureFile)
	}
	return signature.PublicKey, nil
}
