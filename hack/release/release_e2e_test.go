//go:build e2e

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestE2ERelease makes a release twice, the second time in another place as another user, and checks the files with the tools that will read them.
func TestE2ERelease(t *testing.T) {
	first, second := twoTrees(t)
	key := newKey(t)
	folder := makeRelease(t, first, key, "022")
	again := makeRelease(t, second, key, "077",
		"TZ=Asia/Kathmandu", "LANG=C", "GOFLAGS=-tags=mine -buildvcs=auto", "GOAMD64=v3", "GOARM64=v8.5", "CGO_ENABLED=1")
	t.Run("the same twice", func(t *testing.T) { checkSame(t, folder, again) })
	t.Run("names", func(t *testing.T) { checkNames(t, folder) })
	t.Run("checksums", func(t *testing.T) { checkSums(t, folder) })
	t.Run("signature", func(t *testing.T) { checkSignature(t, first, key, folder) })
	t.Run("plugin", func(t *testing.T) { checkPlugin(t, folder) })
	t.Run("krew", func(t *testing.T) { checkKrew(t, folder) })
	t.Run("chart", func(t *testing.T) { checkChart(t, folder) })
	t.Run("notes", func(t *testing.T) { checkNotes(t, folder) })
	t.Run("bundle", func(t *testing.T) { checkBundle(t, first, second) })
	t.Run("refused", func(t *testing.T) { checkRefused(t, first, folder) })
}

// contents returns the files of a folder.
func contents(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	files, err := readFolder(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string][]byte{}
	for _, file := range files {
		byName[file.name] = file.data
	}
	return byName
}

func checkSame(t *testing.T, first, second string) {
	one, other := contents(t, first), contents(t, second)
	if len(one) == 0 || len(one) != len(other) {
		t.Errorf("the first release has %d files, the second %d", len(one), len(other))
	}
	for name, data := range one {
		if !bytes.Equal(data, other[name]) {
			t.Errorf("%s differs: compare %s and %s", name, filepath.Join(first, name), filepath.Join(second, name))
		}
	}
}

// platforms returns the platforms of the image and of the plugin in the release.
func platforms() (images, plugins []string) {
	if !*all {
		return []string{shortList}, []string{shortList}
	}
	return []string{"linux/amd64", "linux/arm64"}, []string{
		"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64",
	}
}

func archiveName(platform string) string {
	suffix := ".tar.gz"
	if strings.HasPrefix(platform, "windows/") {
		suffix = ".zip"
	}
	return "kubectl-podmanager_v0.2.0_" + strings.ReplaceAll(platform, "/", "_") + suffix
}

func checkNames(t *testing.T, folder string) {
	want := []string{
		"RELEASE_NOTES.md", "SHA256SUMS", "SHA256SUMS.sig", "install.yaml", "podmanager-0.2.0.tgz", "podmanager-image_v0.2.0.tar", "podmanager.yaml",
		"provenance.sigstore.json",
	}
	images, plugins := platforms()
	for _, platform := range images {
		stem := "podmanager-image_v0.2.0_" + strings.ReplaceAll(platform, "/", "_")
		want = append(want, stem+".tar", stem+".spdx.json")
	}
	for _, platform := range plugins {
		want = append(want, archiveName(platform), "kubectl-podmanager_v0.2.0_"+strings.ReplaceAll(platform, "/", "_")+".spdx.json")
	}
	got := []string{}
	for name := range contents(t, folder) {
		got = append(got, name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("there are\n%q, want\n%q", got, want)
	}
}

func checkSums(t *testing.T, folder string) {
	program, args := "sha256sum", []string{"-c", sumsFile}
	if _, err := exec.LookPath(program); err != nil { // on macOS
		program, args = "shasum", []string{"-a", "256", "-c", sumsFile}
	}
	output := command(t, folder, program, args...)
	if good, want := strings.Count(output, ": OK\n"), len(contents(t, folder))-3; good != want {
		t.Errorf("%d files are right, want all %d:\n%s", good, want, output)
	}
}

// checkSignature checks that the release can be verified, but not with an untrusted key or with a changed file.
func checkSignature(t *testing.T, tree repository, key, folder string) {
	verify := func(signers, folder string) (string, error) {
		return makeTarget(tree, nil, "022", "release-verify", "SIGNERS="+signers, "FOLDER="+folder)
	}
	if output, err := verify(key+".signers", folder); err != nil || !strings.Contains(output, "Verified: PodManager v0.2.0 of commit ") {
		t.Errorf("make release-verify: %v\n%s", err, output)
	}
	if output, err := verify(newKey(t)+".signers", folder); err == nil || !strings.Contains(output, "is not trusted") {
		t.Errorf("with only another key trusted: error %v\n%s", err, output)
	}
	changed := t.TempDir()
	if err := os.CopyFS(changed, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(changed, installFile), []byte("kind: Pod\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if output, err := verify(key+".signers", changed); err == nil || !strings.Contains(output, installFile) {
		t.Errorf("with a changed file: error %v\n%s", err, output)
	}
}

// checkPlugin unpacks the archive with tar, and runs the plugin if the platform allows it.
func checkPlugin(t *testing.T, folder string) {
	unpacked := t.TempDir()
	command(t, folder, "tar", "-xzf", archiveName("linux/amd64"), "-C", unpacked)
	license, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if files := contents(t, unpacked); len(files) != 2 || !bytes.Equal(files["LICENSE"], license) {
		t.Errorf("there are %d files in the archive, want the plugin and its license", len(files))
	}
	sbom, err := os.ReadFile(filepath.Join(folder, "kubectl-podmanager_v0.2.0_linux_amd64.spdx.json"))
	if err != nil || !bytes.Contains(sbom, []byte(`"versionInfo": "v0.2.0"`)) || !bytes.Contains(sbom, []byte("pkg:golang/k8s.io/client-go@")) {
		t.Errorf("the SBOM does not have the version and modules of the plugin (error %v):\n%s", err, sbom)
	}
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("the plugin was not started: it is for linux/amd64")
	}
	if output := command(t, unpacked, "./kubectl-podmanager", "version"); !strings.Contains(output, " v0.2.0 ") {
		t.Errorf("the plugin says that it is %s", output)
	}
}

// checkKrew lets krew install each archive, as on a machine of its platform.
func checkKrew(t *testing.T, folder string) {
	krew := tool(t, "krew")
	_, plugins := platforms()
	for _, platform := range plugins {
		root := t.TempDir()
		system, architecture, _ := strings.Cut(platform, "/")
		install := exec.Command(krew, "install", "--manifest", "podmanager.yaml", "--archive", archiveName(platform))
		install.Dir = folder
		install.Env = append(os.Environ(), "KREW_ROOT="+root, "KREW_OS="+system, "KREW_ARCH="+architecture, "KREW_NO_UPGRADE_CHECK=1")
		output, err := install.CombinedOutput()
		if err != nil {
			t.Errorf("krew on %s: %v\n%s", platform, err, output)
			continue
		}
		if found, err := filepath.Glob(filepath.Join(root, "store", "podmanager", string(testVersion), "kubectl-podmanager*")); err != nil || len(found) != 1 {
			t.Errorf("krew on %s has installed %v (error %v)\n%s", platform, found, err, output)
		}
	}
}

// checkChart lets Helm read the package, and compares what it would install with install.yaml.
func checkChart(t *testing.T, folder string) {
	helm, chart := tool(t, "helm"), filepath.Join(folder, "podmanager-0.2.0.tgz")
	command(t, folder, helm, "lint", "--strict", chart)
	var shown struct{ Name, Version, AppVersion string }
	if err := yaml.Unmarshal([]byte(command(t, folder, helm, "show", "chart", chart)), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.Name != "podmanager" || shown.Version != "0.2.0" || shown.AppVersion != "v0.2.0" {
		t.Errorf("Helm reads %+v", shown)
	}
	rendered := filepath.Join(t.TempDir(), "rendered.yaml")
	objects := command(t, folder, helm, "template", "podmanager", chart, "--namespace", "podmanager-system")
	if err := os.WriteFile(rendered, []byte(objects), 0o644); err != nil {
		t.Fatal(err)
	}
	install := filepath.Join(folder, installFile)
	command(t, "../..", "go", "run", "./hack/release/chart", "compare", install, rendered)
	data, err := os.ReadFile(install)
	if err != nil || !bytes.Contains(data, []byte(" image: mycompany/podmanager:v0.2.0@"+releasedDigest(t, folder)+"\n")) {
		t.Errorf("both install another image than that of the release (error %v)", err)
	}
	// A mirror has the same image, and a tag or digest that the user sets replaces the digest.
	for set, want := range map[string]string{
		"image.repository=mirror.example.com/podmanager": "mirror.example.com/podmanager:v0.2.0@" + releasedDigest(t, folder),
		"image.tag=v9":               "mycompany/podmanager:v9",
		"image.digest=" + testDigest: "mycompany/podmanager@" + testDigest,
	} {
		if objects := command(t, folder, helm, "template", chart, "--set", set); !strings.Contains(objects, ` image: "`+want+"\"\n") {
			t.Errorf("with %s there is no image %s in\n%s", set, want, objects)
		}
	}
}

// releasedDigest returns the digest of the image in the release.
func releasedDigest(t *testing.T, folder string) string {
	t.Helper()
	unpacked := t.TempDir()
	command(t, folder, "tar", "-xf", "podmanager-image_v0.2.0.tar", "-C", unpacked)
	digest, err := imageDigest(unpacked, string(testVersion))
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func checkNotes(t *testing.T, folder string) {
	data, err := os.ReadFile(filepath.Join(folder, notesFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Changes since v0.1.0: 1 commits", "\n- " + testChange + "\n", releasedDigest(t, folder)} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%q is not in\n%s", want, data)
		}
	}
}

// checkBundle runs OLM's validator, which must also detect an error.
func checkBundle(t *testing.T, first, second repository) {
	validator := tool(t, "bundlecheck")
	for _, tree := range []repository{first, second} {
		if output, err := makeTarget(tree, nil, "022", "bundle", "VERSION="+string(testVersion), "REPLACES=v0.1.0"); err != nil {
			t.Fatalf("make bundle: %v\n%s", err, output)
		}
	}
	bundle := filepath.Join(string(first), ".release", "bundle")
	checkSame(t, bundle, filepath.Join(string(second), ".release", "bundle"))
	t.Log(command(t, bundle, validator, "."))
	if err := os.Remove(filepath.Join(bundle, "manifests", "podmanagers.apps.mycompany.com.customresourcedefinition.yaml")); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command(validator, bundle).CombinedOutput(); err == nil {
		t.Errorf("a bundle without its CRD passes the validation:\n%s", output)
	}
}

// checkRefused checks that uncommitted files are not released, and that the previous release stays.
func checkRefused(t *testing.T, tree repository, folder string) {
	before := contents(t, folder)
	if err := os.WriteFile(filepath.Join(string(tree), "cmd", "controller", "extra.go"), []byte("package main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"?? cmd/controller/extra.go": {"release", "VERSION=v0.2.0"},
		"say VERSION=v0.2.0":         {"release"},
		`VERSION is '0.2.0'`:         {"release", "VERSION=0.2.0"},
	} {
		output, err := makeTarget(tree, nil, "022", args...)
		if err == nil || !strings.Contains(output, want) {
			t.Errorf("make %v: error %v, want a failure with %q:\n%s", args, err, want, output)
		}
	}
	if after := contents(t, folder); len(after) != len(before) {
		t.Errorf("%d of the %d files of the previous release are left", len(after), len(before))
	}
}
