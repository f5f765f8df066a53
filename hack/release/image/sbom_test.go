package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
	"github.com/spdx/tools-golang/spdxlib"
)

// TestSBOM describes this test's own program, and reads the result with the reference implementation of SPDX.
func TestSBOM(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := sbom(program, "v1.2.3", "Apache-2.0", testTime)
	if err != nil {
		t.Fatal(err)
	}
	checkSBOM(t, text, program, "v1.2.3")
	if again, err := sbom(program, "v1.2.3", "Apache-2.0", testTime); err != nil || !bytes.Equal(text, again) {
		t.Errorf("a second SBOM of the program has other bytes (error %v)", err)
	}
}

// TestSBOMCommand describes a program for a platform that has no image.
func TestSBOMCommand(t *testing.T) {
	program, out := compiled(t, "windows/amd64"), filepath.Join(t.TempDir(), "web.spdx.json")
	if err := run([]string{"sbom", "-program", program, "-version", "v1.2.3", "-created", "2026-01-31T12:00:00Z", "-out", out}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"versionInfo": "v1.2.3"`, `"created": "2026-01-31T12:00:00Z"`, "GOOS=windows", "pkg:golang/stdlib@"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

// checkSBOM fails unless the document is valid and has the program's checksum and all of its modules.
func checkSBOM(t *testing.T, text []byte, program, version string) {
	t.Helper()
	document := &v2_3.Document{}
	if err := json.ReadInto(bytes.NewReader(text), document); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if err := spdxlib.ValidateDocument(document); err != nil {
		t.Error(err)
	}
	if described, err := spdxlib.GetDescribedPackageIDs(document); err != nil || len(described) != 1 {
		t.Errorf("the SBOM describes %v (error %v), want one package", described, err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	main := document.Packages[0]
	if main.PackageVersion != version || main.PackageChecksums[0].Value != hex.EncodeToString(sum[:]) {
		t.Errorf("the program is %s with checksums %v, want %s, sha256 %x", main.PackageVersion, main.PackageChecksums, version, sum)
	}
	want := []string{"pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go")}
	for _, dependency := range info.Deps {
		want = append(want, "pkg:golang/"+dependency.Path+"@"+dependency.Version)
	}
	if len(want) < 3 {
		t.Fatalf("%s records modules %v, which is too few to show anything", program, want)
	}
	got := []string{}
	for _, part := range document.Packages[1:] {
		got = append(got, part.PackageExternalReferences[0].Locator)
	}
	if !slices.Equal(got, want) {
		t.Errorf("modules %v, want %v", got, want)
	}
}

func TestNoSBOM(t *testing.T) {
	path := t.TempDir() + "/program"
	if err := os.WriteFile(path, []byte("\x7fELF"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := sbom(path, "v1", "MIT", testTime); err == nil || !strings.Contains(err.Error(), "Go linker") {
		t.Errorf("error %v, want one that says where an SBOM comes from", err)
	}
}
