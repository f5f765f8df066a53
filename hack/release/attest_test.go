package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSign checks that signing without a key prints a warning, and that with a key the program of hack/release/attest is told what to sign.
func TestSign(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "attest")
	script := "#!/bin/sh\necho \"$@\"\ntest \"$5\" != bad.pub\n"
	if err := os.WriteFile(tool, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		key, told, refused string
	}{
		"no key":      {"", "\nNOT SIGNED: ", ""},
		"a key":       {"key.pub", "sign -folder .release -key key.pub -signers allowed -version v0.2.0 -commit 0123456789", ""},
		"a wrong key": {"bad.pub", "", "the files in .release are NOT SIGNED"},
	} {
		var told strings.Builder
		err := attestation{tool, test.key, "allowed"}.sign(&told, ".release", testStamps("v0.2.0"))
		if (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s: error %v, want %q", name, err, test.refused)
		}
		if !strings.Contains(told.String(), test.told) {
			t.Errorf("%s: %q is not in\n%s", name, test.told, told.String())
		}
		if test.key == "key.pub" && !strings.Contains(told.String(), "-image mycompany/podmanager -digest "+testDigest+" -go go1.") {
			t.Errorf("%s: the attest tool is called with\n%s", name, told.String())
		}
	}
}
