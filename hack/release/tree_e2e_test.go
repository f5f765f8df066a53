//go:build e2e

package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var all = flag.Bool("all", false, "make the release for all platforms")

const (
	testVersion = version("v0.2.0")
	testChange  = "plan: a change since the last release"
	shortList   = "linux/amd64"
)

// twoTrees returns two clones of the same commit in different places. The commit has the files of the tree under test, committed or not, so that a
// release can be tested before it is committed. An earlier commit has the tag of another release.
func twoTrees(t *testing.T) (repository, repository) {
	t.Helper()
	tree := newTree(t)
	listed, err := repository("../..").git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(listed, "\x00"), "\x00") {
		copyFile(t, filepath.Join("../..", name), filepath.Join(string(tree), name))
	}
	commit(t, tree, "all: as it was before")
	mustGit(t, tree, "tag", "--annotate", "--message", "v0.1.0", "v0.1.0")
	commit(t, tree, testChange, "pkg/plan/change.txt")
	other := repository(filepath.Join(t.TempDir(), "somewhere", "else"))
	mustGit(t, tree, "clone", "--quiet", string(tree), string(other))
	return tree, other
}

// copyFile copies a file. It does nothing if the file is deleted in the working tree.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, info.Mode().Perm()); err != nil {
		t.Fatal(err)
	}
}

// makeTarget runs a target as a user with this environment and umask. It does not pass on the settings of the make that runs the tests.
func makeTarget(tree repository, env []string, umask string, args ...string) (string, error) {
	command := exec.Command("sh", append([]string{"-c", "umask " + umask + ` && exec make "$@"`, "make", "-C", string(tree)}, args...)...)
	command.Env = append(append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=0"), env...)
	output, err := command.CombinedOutput()
	return string(output), err
}

// newKey returns the path of a key for this test only. The file with the same name and .signers appended marks it as trusted.
func newKey(t *testing.T) string {
	t.Helper()
	key := filepath.Join(t.TempDir(), "release")
	command(t, ".", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	signer, _, _ := strings.Cut(command(t, ".", tool(t, "attest"), "key", "-key", key+".pub"), "\n")
	if err := os.WriteFile(key+".signers", []byte(signer+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return key
}

// makeRelease makes the release in a tree, signed with a key, and returns its folder.
func makeRelease(t *testing.T, tree repository, key, umask string, env ...string) string {
	t.Helper()
	args := []string{"release", "VERSION=" + string(testVersion), "SIGNING_KEY=" + key, "SIGNERS=" + key + ".signers"}
	if !*all {
		args = append(args, "PLATFORMS="+shortList, "PLUGIN_PLATFORMS="+shortList)
	}
	output, err := makeTarget(tree, env, umask, args...)
	if err != nil {
		t.Fatalf("make release: %v\n%s", err, output)
	}
	t.Log(output)
	return filepath.Join(string(tree), ".release")
}

// command runs a program in a folder, fails the test if it fails, and returns its output.
func command(t *testing.T, folder, program string, args ...string) string {
	t.Helper()
	command := exec.Command(program, args...)
	command.Dir = folder
	var complaint strings.Builder
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(program), strings.Join(args, " "), err, output, complaint.String())
	}
	return string(output)
}

// tool returns a program that hack/tool.sh builds.
func tool(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(command(t, "../..", "hack/tool.sh", name))
}
