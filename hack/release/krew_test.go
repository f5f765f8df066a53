package main

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestKrewManifest checks the rules of krew's documentation and of its reviewers. make release-test installs it with krew itself.
func TestKrewManifest(t *testing.T) {
	plugins := []pluginArchive{
		{os: "linux", arch: "amd64", program: "kubectl-podmanager", archive: file{name: "a.tar.gz", data: []byte("a")}},
		{os: "windows", arch: "arm64", program: "kubectl-podmanager.exe", archive: file{name: "b.zip", data: []byte("b")}},
	}
	data, err := krewManifest(plugins, "v0.2.0", "https://example.com/v0.2.0/")
	if err != nil {
		t.Fatal(err)
	}
	var got krewPlugin
	if err := yaml.UnmarshalStrict(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || got.Kind != "Plugin" || got.Spec.Version != "v0.2.0" {
		t.Errorf("the manifest is a %s %s of version %s", got.APIVersion, got.Kind, got.Spec.Version)
	}
	if name := got.Metadata["name"]; !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(name) || strings.HasPrefix(name, "kubectl") {
		t.Errorf("the name %q is not in lower case with hyphens, or repeats kubectl", name)
	}
	checkWidth(t, got.Spec.ShortDescription, 70)
	checkWidth(t, got.Spec.Description, 80)
	checkWidth(t, got.Spec.Caveats, 80)
	if strings.ContainsAny(got.Spec.ShortDescription, "\r\n") || strings.HasSuffix(got.Spec.ShortDescription, ".") {
		t.Errorf("the short description %q is more than a line without a full stop", got.Spec.ShortDescription)
	}
	for i, want := range []krewPlatform{
		{URI: "https://example.com/v0.2.0/a.tar.gz", SHA256: "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", Bin: "kubectl-podmanager"},
		{URI: "https://example.com/v0.2.0/b.zip", SHA256: "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d", Bin: "kubectl-podmanager.exe"},
	} {
		platform := got.Spec.Platforms[i]
		if platform.URI != want.URI || platform.SHA256 != want.SHA256 || platform.Bin != want.Bin {
			t.Errorf("got %+v, want %+v", platform, want)
		}
		if labels := map[string]string{"os": plugins[i].os, "arch": plugins[i].arch}; !maps.Equal(platform.Selector.MatchLabels, labels) {
			t.Errorf("%s is for %v, want %v", platform.URI, platform.Selector.MatchLabels, labels)
		}
	}
}

func checkWidth(t *testing.T, text string, most int) {
	t.Helper()
	if text == "" {
		t.Error("a description is missing")
	}
	for line := range strings.Lines(text) {
		if width := len(strings.TrimSuffix(line, "\n")); width > most {
			t.Errorf("%d characters, want at most %d: %s", width, most, line)
		}
	}
}
