package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
)

// sign writes the signature and the provenance to the folder. It fails if the files of the folder do not match its checksums.
func sign(folder string, signer ssh.Signer, about build) error {
	data, err := os.ReadFile(filepath.Join(folder, sumsFile))
	if err != nil {
		return err
	}
	sums, err := parseSums(data)
	if err != nil {
		return err
	}
	if err := checkFiles(folder, sums); err != nil {
		return err
	}
	signature, err := signSums(data, signer)
	if err != nil {
		return err
	}
	statement, err := about.statement(sums)
	if err != nil {
		return err
	}
	provenance, err := signStatement(statement, signer)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, signatureFile), signature, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, provenanceFile), provenance, 0o644)
}

// verify fails unless a trusted key has signed the checksums, the files match them, and the same key has signed how they were built. It returns the
// signed build, and the key.
func verify(folder string, trusted []ssh.PublicKey) (build, ssh.PublicKey, error) {
	content := map[string][]byte{}
	for _, name := range []string{sumsFile, signatureFile, provenanceFile} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return build{}, nil, fmt.Errorf("the release is not signed: %w", err)
		}
		content[name] = data
	}
	key, err := verifySums(content[sumsFile], content[signatureFile], trusted)
	if err != nil {
		return build{}, nil, err
	}
	sums, err := parseSums(content[sumsFile])
	if err != nil {
		return build{}, nil, err
	}
	if err := checkFiles(folder, sums); err != nil {
		return build{}, nil, err
	}
	statement, err := openBundle(content[provenanceFile], key)
	if err != nil {
		return build{}, nil, fmt.Errorf("%s: %w", provenanceFile, err)
	}
	about, err := checkStatement(statement, sums)
	if err != nil {
		return build{}, nil, fmt.Errorf("%s: %w", provenanceFile, err)
	}
	return about, key, checkInstall(folder, about)
}

// checkInstall fails unless install.yaml pulls the image that the provenance is about.
func checkInstall(folder string, about build) error {
	const name = "install.yaml"
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	if want := about.image + ":" + about.version + "@" + about.digest; !strings.Contains(string(data), " image: "+want+"\n") {
		return fmt.Errorf("%s does not have the image %s, which %s is about", name, want, provenanceFile)
	}
	return nil
}

// report verifies a release, and prints what was verified.
func report(out io.Writer, folder string, trusted []ssh.PublicKey) error {
	about, key, err := verify(folder, trusted)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Verified: PodManager %s of commit %s, compiled by %s, the image %s@%s; signed by %s\n",
		about.version, about.commit, about.goVersion, about.image, about.digest, ssh.FingerprintSHA256(key))
	return nil
}
