//go:build e2e

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/moby/patternmatcher"
)

const (
	testVersion  = "v1.2.3-test"
	testRevision = "0123456789012345678901234567890123456789"
	testDate     = "2026-01-31T12:00:00Z"
)

// root returns the root of the repository.
func root(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// makeTarget runs a target with fixed stamps, because the tree under test may be anything between two commits. It does not pass on the settings of
// the make that runs the tests.
func makeTarget(t *testing.T, tree, target, out string, env []string, more ...string) {
	t.Helper()
	args := append([]string{"-C", tree, target, "IMAGE_DIR=" + out,
		"VERSION=" + testVersion, "COMMIT=" + testRevision, "TREE=clean", "DATE=" + testDate,
		"IMG=mycompany/podmanager:" + testVersion, "PLATFORMS=linux/amd64 linux/arm64"}, more...)
	command := exec.Command("make", args...)
	command.Env = append(append(os.Environ(), "MAKEFLAGS="), env...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		t.Fatalf("make %s: %v; the lines above say why", target, err)
	}
}

// image returns the folder with the image of the tree under test, which is built once for all tests.
var image = sync.OnceValue(func() string {
	folder, err := os.MkdirTemp("", "podmanager-image-*")
	if err != nil {
		panic(err)
	}
	return folder
})

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(image())
	os.Exit(code)
}

var buildOnce sync.Once

func built(t *testing.T) string {
	t.Helper()
	buildOnce.Do(func() { makeTarget(t, root(t), "image", image(), nil) })
	if _, err := os.Stat(filepath.Join(image(), "layout", "index.json")); err != nil {
		t.Fatalf("make image has built nothing: %v", err)
	}
	return image()
}

// copyTree copies files and folders, except those that the patterns of a .dockerignore exclude.
func copyTree(t *testing.T, from, to, path string, ignored *patternmatcher.PatternMatcher) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(from, path), func(source string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, source)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if ignored != nil {
			if skip, err := ignored.MatchesOrParentMatches(name); err != nil || skip {
				return err
			}
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// clean returns an environment without this machine's Go settings, except for its caches.
func clean(t *testing.T, more ...string) []string {
	t.Helper()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GOENV=off"}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	return append(env, more...)
}
