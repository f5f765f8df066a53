package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newTree returns a repository with one commit, independent of the user's git configuration.
func newTree(t *testing.T) repository {
	t.Helper()
	for key, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
		"GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@example.com", "GIT_COMMITTER_NAME": "Test", "GIT_COMMITTER_EMAIL": "test@example.com",
		"GIT_AUTHOR_DATE": "2026-01-31T12:00:00Z", "GIT_COMMITTER_DATE": "2026-01-31T12:00:00Z",
	} {
		t.Setenv(key, value)
	}
	tree := repository(t.TempDir())
	mustGit(t, tree, "init", "--quiet")
	commit(t, tree, "begin: a file", "Makefile")
	return tree
}

func mustGit(t *testing.T, tree repository, args ...string) {
	t.Helper()
	if _, err := tree.git(args...); err != nil {
		t.Fatal(err)
	}
}

// commit writes the subject to the files and commits them.
func commit(t *testing.T, tree repository, subject string, files ...string) {
	t.Helper()
	for _, name := range files {
		path := filepath.Join(string(tree), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(subject+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mustGit(t, tree, "add", "--all")
	mustGit(t, tree, "commit", "--quiet", "--allow-empty", "--message", subject)
}

const testDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func testStamps(v version) stamps {
	return stamps{version: v, image: image{"mycompany/podmanager", string(v), testDigest}, commit: "0123456789012345678901234567890123456789", created: testTime}
}

func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*testing.T, repository)
		version version
		refused string // empty if it is not refused
	}{
		"the first release": {func(*testing.T, repository) {}, "v0.1.0", ""},
		"a changed file": {func(t *testing.T, tree repository) {
			if err := os.WriteFile(filepath.Join(string(tree), "Makefile"), []byte("changed"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "v0.1.0", "M Makefile"},
		"a file that is in no commit": {func(t *testing.T, tree repository) {
			if err := os.WriteFile(filepath.Join(string(tree), "extra.go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "v0.1.0", "?? extra.go"},
		"the tag is set already": {func(t *testing.T, tree repository) {
			mustGit(t, tree, "tag", "v0.1.0")
		}, "v0.1.0", ""},
		"the tag is another commit's": {func(t *testing.T, tree repository) {
			mustGit(t, tree, "tag", "--annotate", "--message", "v0.1.0", "v0.1.0")
			commit(t, tree, "next: nothing")
		}, "v0.1.0", "is the tag of another commit"},
		"the next version": {func(t *testing.T, tree repository) {
			mustGit(t, tree, "tag", "v0.1.0")
			commit(t, tree, "next: nothing")
		}, "v0.1.1", ""},
		"a lower version": {func(t *testing.T, tree repository) {
			mustGit(t, tree, "tag", "v0.2.0")
			commit(t, tree, "next: nothing")
		}, "v0.1.1", "is not higher than v0.2.0"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t)
			test.prepare(t, tree)
			err := check(tree, testStamps(test.version))
			if test.refused == "" && err != nil || test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)) {
				t.Errorf("error %v, want one with %q", err, test.refused)
			}
		})
	}
}

func TestCheckPartOfTheLog(t *testing.T) {
	tree := newTree(t)
	commit(t, tree, "next: nothing")
	part := repository(filepath.Join(t.TempDir(), "part"))
	mustGit(t, tree, "clone", "--quiet", "--depth", "1", "file://"+string(tree), string(part))
	if err := check(part, testStamps("v0.1.0")); err == nil || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("error %v, want one that says how to get the rest", err)
	}
}

func TestCheckTag(t *testing.T) {
	stamps := testStamps("v0.2.0")
	stamps.image.tag = "latest"
	if err := check(newTree(t), stamps); err == nil || !strings.Contains(err.Error(), "must have the tag v0.2.0") {
		t.Errorf("error %v, want one that names the tag", err)
	}
}
