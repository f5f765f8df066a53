package pkg

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// blocks returns the code blocks of a language in README.md.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, match := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```\n").FindAllStringSubmatch(string(text), -1) {
		found = append(found, match[1]+"\n")
	}
	return found
}

// The diff of "A first change" applies to the sources, unless the reader has already applied it, and the result is formatted. If this fails, the
// lines around the diff have changed: make the section's change again, and replace the diff with the output of git diff -U1.
func TestFirstChangeApplies(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	diffs := blocks(t, "diff")
	if len(diffs) != 1 {
		t.Fatalf("README.md has %d diffs, want one", len(diffs))
	}
	copied := t.TempDir()
	files := copyChanged(t, diffs[0], copied)
	apply := func(flags ...string) ([]byte, error) {
		command := exec.CommandContext(t.Context(), "git", append([]string{"apply"}, flags...)...)
		command.Dir, command.Stdin = copied, strings.NewReader(diffs[0])
		command.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(copied))
		return command.CombinedOutput()
	}
	if _, err := apply("--reverse", "--check"); err == nil && len(files) > 0 {
		return // the reader has made the change
	}
	if out, err := apply("--whitespace=error-all"); err != nil || len(files) == 0 {
		t.Fatalf("the diff does not apply to %d files: %v\n%s", len(files), err, out)
	}
	for _, path := range files {
		if filepath.Ext(path) != ".go" {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if formatted, err := format.Source(content); err != nil || string(formatted) != string(content) {
			t.Errorf("%s is not formatted after the change (error %v)", path, err)
		}
	}
}

// copyChanged copies the files that a diff changes into a folder.
func copyChanged(t *testing.T, diff, folder string) (files []string) {
	t.Helper()
	for _, match := range regexp.MustCompile(`(?m)^\+\+\+ b/(.*)$`).FindAllStringSubmatch(diff, -1) {
		content, err := os.ReadFile(filepath.Join("..", match[1]))
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(folder, match[1])
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, target)
	}
	return files
}

// The log of "The life of one event" has messages that the named files log.
func TestLogLinesExist(t *testing.T) {
	sources := map[string]string{}
	err := filepath.WalkDir("controller", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			var content []byte
			content, err = os.ReadFile(path)
			sources[filepath.Base(path)] += string(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, block := range blocks(t, "text") {
		for _, match := range regexp.MustCompile(`(?m)^\S+ (\w+\.go)\] ("[^"]+")`).FindAllStringSubmatch(block, -1) {
			seen++
			if file, message := match[1], match[2]; !strings.Contains(sources[file], "Info("+message) {
				t.Errorf("%s does not log %s", file, message)
			}
		}
	}
	if seen < 5 {
		t.Errorf("README.md shows %d log lines, want the way from an event to the status", seen)
	}
}
