package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// verifyingLines returns the commands that artifacts/README.md gives users.
func verifyingLines(t *testing.T) []string {
	t.Helper()
	found := regexp.MustCompile("(?s)```sh\n(ssh-keygen -Y verify .*?)```").FindStringSubmatch(read(t, "../../..", "artifacts/README.md"))
	if found == nil {
		t.Fatal("the manual does not say how to verify a release")
	}
	lines := strings.Split(strings.TrimSpace(found[1]), "\n")
	if len(lines) != 3 {
		t.Fatalf("the manual has %d lines for that, want 3: %q", len(lines), lines)
	}
	return lines
}

// users returns a release together with the files that a user takes from the repository.
func users(t *testing.T) string {
	t.Helper()
	folder := signed(t, testKey(t, 'a'), testBuild)
	var printed strings.Builder
	key := write(t, t.TempDir(), "release.pub", string(ssh.MarshalAuthorizedKey(testKey(t, 'a').PublicKey())))
	if err := run([]string{"key", "-key", key}, &printed); err != nil {
		t.Fatal(err)
	}
	line, text, _ := strings.Cut(printed.String(), "\n")
	write(t, folder, "allowed_signers", line+"\n")
	write(t, folder, "release.pem", text)
	return folder
}

// TestReadme verifies a release with the tools that users have, and checks that they reject a changed file.
func TestReadme(t *testing.T) {
	signer, other := testKey(t, 'a'), testKey(t, 'b')
	put := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, folder string) { write(t, folder, name, text) }
	}
	changes := map[string][]func(*testing.T, string){
		"ssh-keygen": {
			put(sumsFile, "# none\n"), put(signatureFile, read(t, signed(t, other, testBuild), signatureFile)), otherNamespace(signer),
		},
		"sha256sum": {put("install.yaml", "kind: Pod\n"), put("podmanager-0.2.0.tgz", "")},
		"cosign":    {put("install.yaml", "kind: Pod\n"), put(provenanceFile, read(t, signed(t, other, testBuild), provenanceFile))},
	}
	for _, line := range verifyingLines(t) {
		program, _, _ := strings.Cut(line, " ")
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skip(err)
			}
			if output, err := play(users(t), line); err != nil {
				t.Errorf("%s: %v\n%s", line, err, output)
			}
			if len(changes[program]) == 0 {
				t.Errorf("this test has no change that %s must refuse: add one", program)
			}
			for i, change := range changes[program] {
				folder := users(t)
				change(t, folder)
				if output, err := play(folder, line); err == nil {
					t.Errorf("%s: change %d is not refused:\n%s", line, i, output)
				}
			}
		})
	}
}

func play(folder, line string) (string, error) {
	command := exec.Command("bash", "-c", line)
	command.Dir = folder
	output, err := command.CombinedOutput()
	return string(output), err
}

// TestCommands signs and verifies like make release and make release-verify.
func TestCommands(t *testing.T) {
	signers := write(t, t.TempDir(), "allowed_signers", signerLine(testKey(t, 'a').PublicKey())+"\n")
	signing := func(folder string, seed byte) []string {
		return []string{"sign", "-folder", folder, "-key", writeKey(t, seed), "-signers", signers, "-version", testBuild.version,
			"-commit", testBuild.commit, "-image", testBuild.image, "-digest", testBuild.digest, "-go", testBuild.goVersion}
	}
	folder := unsigned(t)
	for _, test := range []struct {
		args []string
		told string
		err  string
	}{
		{nil, "", "usage: attest"},
		{[]string{"verify", "-folder", folder}, "", "needs -signers"},
		{[]string{"verify", "-folder", folder, "-signers", signers, "now"}, "", "takes flags only"},
		{[]string{"verify", "-folder", folder, "-signers", signers}, "", "the release is not signed"},
		{signing(folder, 'b'), "", signerLine(testKey(t, 'b').PublicKey())},
		{signing(folder, 'a'), "Verified: PodManager v0.2.0 of commit 0123456789", ""},
		{[]string{"verify", "-folder", folder, "-signers", signers}, "signed by " + ssh.FingerprintSHA256(testKey(t, 'a').PublicKey()), ""},
	} {
		var told strings.Builder
		err := run(test.args, &told)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) || !strings.Contains(told.String(), test.told) {
			t.Errorf("%q: error %v, want %q, and told %q, want %q", test.args, err, test.err, told.String(), test.told)
		}
	}
}
