package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/crypto/ssh"
)

var testBuild = build{
	version: "v0.2.0", commit: strings.Repeat("0123456789", 4), image: "registry.example.com/podmanager",
	digest: "sha256:" + strings.Repeat("ab", 32), goVersion: "go1.26.8",
}

// testKey returns a test key. The same seed returns the same key.
func testKey(t *testing.T, seed byte) ssh.Signer {
	t.Helper()
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(seed), ed25519.SeedSize))))
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, folder, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// unsigned returns a folder with the files of a small release and their checksums.
func unsigned(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	sums := ""
	for _, file := range [][2]string{
		{"install.yaml", "spec:\n  image: " + testBuild.image + ":" + testBuild.version + "@" + testBuild.digest + "\n"}, {"podmanager-0.2.0.tgz", "chart"},
	} {
		write(t, folder, file[0], file[1])
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(file[1])), file[0])
	}
	write(t, folder, sumsFile, sums)
	return folder
}

func signed(t *testing.T, signer ssh.Signer, about build) string {
	t.Helper()
	folder := unsigned(t)
	if err := sign(folder, signer, about); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestVerify(t *testing.T) {
	signer := testKey(t, 'a')
	folder := signed(t, signer, testBuild)
	if err := os.Mkdir(filepath.Join(folder, "bundle"), 0o755); err != nil { // the bundle for OLM
		t.Fatal(err)
	}
	about, key, err := verify(folder, []ssh.PublicKey{testKey(t, 'b').PublicKey(), signer.PublicKey()})
	if err != nil || about != testBuild || !same(key, signer.PublicKey()) {
		t.Errorf("verified are %+v (error %v), want %+v", about, err, testBuild)
	}
	again := signed(t, signer, testBuild)
	for _, name := range []string{signatureFile, provenanceFile} {
		if read(t, folder, name) != read(t, again, name) {
			t.Errorf("%s has other bytes when it is made again", name)
		}
	}
}

// TestAnyByte checks that changing any byte of any file is detected.
func TestAnyByte(t *testing.T) {
	signer := testKey(t, 'a')
	folder := signed(t, signer, testBuild)
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 5 {
		t.Fatalf("%d files (error %v), want 5", len(entries), err)
	}
	for _, entry := range entries {
		before := read(t, folder, entry.Name())
		for i := range before {
			changed := []byte(before)
			if changed[i] ^= 1; unicode.IsLetter(rune(before[i])) {
				changed[i] = before[i] ^ 0x20 // swaps upper and lower case, which the JSON decoder ignores in keys
			}
			write(t, folder, entry.Name(), string(changed))
			if _, _, err := verify(folder, []ssh.PublicKey{signer.PublicKey()}); err == nil {
				t.Errorf("%s is accepted with %q at byte %d", entry.Name(), changed[i], i)
			}
		}
		for _, changed := range []string{"", before + "\n", "\n" + before, before + before} {
			write(t, folder, entry.Name(), changed)
			if _, _, err := verify(folder, []ssh.PublicKey{signer.PublicKey()}); err == nil {
				t.Errorf("%s is accepted with the content %q", entry.Name(), changed)
			}
		}
		write(t, folder, entry.Name(), before)
	}
	if _, _, err := verify(folder, []ssh.PublicKey{signer.PublicKey()}); err != nil {
		t.Errorf("the unchanged files are refused: %v", err)
	}
}

func TestRefused(t *testing.T) {
	signer, other := testKey(t, 'a'), testKey(t, 'b')
	// take puts a file of another release into the folder.
	take := func(name string, signer ssh.Signer, about build) func(*testing.T, string) {
		return func(t *testing.T, folder string) { write(t, folder, name, read(t, signed(t, signer, about), name)) }
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	elsewhere := testBuild
	elsewhere.digest = "sha256:" + strings.Repeat("cd", 32)
	for name, test := range map[string]struct {
		change func(*testing.T, string)
		want   string
	}{
		"signed by another key":             {take(signatureFile, other, testBuild), "is not trusted"},
		"attested by another key":           {take(provenanceFile, other, testBuild), "not signed by the key"},
		"attested for another image":        {take(provenanceFile, signer, elsewhere), "does not have the image"},
		"not signed":                        {remove(signatureFile), "the release is not signed"},
		"not attested":                      {remove(provenanceFile), "the release is not signed"},
		"a file less":                       {remove("podmanager-0.2.0.tgz"), "podmanager-0.2.0.tgz"},
		"a file more":                       {func(t *testing.T, folder string) { write(t, folder, "more.sh", "") }, "more.sh is not in SHA256SUMS"},
		"checksums and signature of others": {changedSums(signer), "not the provenance of the files"},
		"a signature for other things":      {otherNamespace(signer), "namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := signed(t, signer, testBuild)
			test.change(t, folder)
			if _, _, err := verify(folder, []ssh.PublicKey{signer.PublicKey()}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// changedSums changes a file and signs the new checksums, but keeps the old provenance.
func changedSums(signer ssh.Signer) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		provenance := read(t, folder, provenanceFile)
		write(t, folder, "podmanager-0.2.0.tgz", "another chart")
		lines := strings.Split(read(t, folder, sumsFile), "\n")
		write(t, folder, sumsFile, lines[0]+fmt.Sprintf("\n%x  podmanager-0.2.0.tgz\n", sha256.Sum256([]byte("another chart"))))
		if err := sign(folder, signer, testBuild); err != nil {
			t.Fatal(err)
		}
		write(t, folder, provenanceFile, provenance)
	}
}

// TestSignsOnlyWhatIsThere checks that a folder whose files do not match its checksums is not signed.
func TestSignsOnlyWhatIsThere(t *testing.T) {
	folder := unsigned(t)
	write(t, folder, "install.yaml", "kind: Pod\n")
	if err := sign(folder, testKey(t, 'a'), testBuild); err == nil || !strings.Contains(err.Error(), "does not match its checksum") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, signatureFile)); err == nil {
		t.Error("the folder is signed")
	}
}

// TestStatement checks that the statement has what other tools read, in the terms of in-toto and SLSA.
func TestStatement(t *testing.T) {
	text, err := testBuild.statement(map[string]string{"install.yaml": strings.Repeat("ef", 32)})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"_type":"https://in-toto.io/Statement/v1",` +
		`"subject":[{"name":"registry.example.com/podmanager","digest":{"sha256":"abababababababababababababababababababababababababababababababab"}},` +
		`{"name":"install.yaml","digest":{"sha256":"efefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefef"}}],` +
		`"predicateType":"https://slsa.dev/provenance/v1","predicate":{"buildDefinition":{` +
		`"buildType":"https://github.com/mycompany/podmanager/hack/release/v1",` +
		`"externalParameters":{"image":"registry.example.com/podmanager","version":"v0.2.0"},"resolvedDependencies":[` +
		`{"digest":{"gitCommit":"0123456789012345678901234567890123456789"},"uri":"git+https://github.com/mycompany/podmanager@refs/tags/v0.2.0"},` +
		`{"uri":"pkg:golang/stdlib@1.26.8"}]},` +
		`"runDetails":{"builder":{"id":"https://github.com/mycompany/podmanager/hack/release/maintainer"}}}}`
	if string(text) != want {
		t.Errorf("got\n%s, want\n%s", text, want)
	}
	for name, broken := range map[string]build{
		"no digest":   {version: "v0.2.0", commit: testBuild.commit, image: "a", digest: "latest", goVersion: "go1.26.8"},
		"no checksum": {version: "v0.2.0", commit: testBuild.commit, image: "a", digest: "sha256:12", goVersion: "go1.26.8"},
		"no commit":   {version: "v0.2.0", commit: "main", image: "a", digest: testBuild.digest, goVersion: "go1.26.8"},
	} {
		if text, err := broken.statement(nil); err == nil {
			t.Errorf("%s: made %s", name, text)
		}
	}
}

// TestBundle checks that the format is the one that cosign reads.
func TestBundle(t *testing.T) {
	signer := testKey(t, 'a')
	var got struct {
		MediaType            string
		VerificationMaterial struct{ PublicKey struct{ Hint string } }
		DSSEEnvelope         struct {
			PayloadType string
			Signatures  []struct{ KeyID string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, signed(t, signer, testBuild), provenanceFile)), &got); err != nil {
		t.Fatal(err)
	}
	key := ssh.FingerprintSHA256(signer.PublicKey())
	if got.MediaType != "application/vnd.dev.sigstore.bundle.v0.3+json" || got.VerificationMaterial.PublicKey.Hint != key ||
		got.DSSEEnvelope.PayloadType != "application/vnd.in-toto+json" || len(got.DSSEEnvelope.Signatures) != 1 || got.DSSEEnvelope.Signatures[0].KeyID != key {
		t.Errorf("got %+v", got)
	}
}
