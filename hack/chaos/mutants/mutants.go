package mutants

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed *.patch
var patches embed.FS

// Mutant is a broken controller.
type Mutant struct {
	Name string
	// About describes what is broken.
	About string
	// Seed is where hack/sim begins to search for a course that catches it; 0 if hack/sim does not search.
	Seed uint64
	// Package and Test identify a test that catches it: a test of hack/sim if random courses seldom do, or a test of pkg/world if the mutant plans
	// wrongly, which shows without an API server.
	Package, Test string
	// Unsimulated is why no simulation can catch it.
	Unsimulated string
	// Scenarios maps the scenarios that have to catch it to the violated invariant; AnyInvariant if it does not matter.
	Scenarios map[string]string
	changes   []change
}

// IsSimulated reports whether a simulation has to catch it.
func (m Mutant) IsSimulated() bool { return m.Seed > 0 || m.Test != "" }

// Sound is the unmodified controller.
var Sound = Mutant{Name: "sound"}

// AnyInvariant stands for all invariants.
const AnyInvariant = "any"

// Replaced returns a mutant that replaces a text in a file. The text must occur exactly once.
func Replaced(name, file, before, after string) Mutant {
	return Mutant{Name: name, changes: []change{{file: file, before: before, after: after}}}
}

// All returns all mutants, sorted by name.
func All() ([]Mutant, error) {
	names, err := fs.Glob(patches, "*.patch")
	if err != nil {
		return nil, err
	}
	var all []Mutant
	for _, name := range names {
		data, err := patches.ReadFile(name)
		if err != nil {
			return nil, err
		}
		m, err := parse(strings.TrimSuffix(name, ".patch"), string(data))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// Patched returns the changed files of the repository in root, by their paths in the repository.
func (m Mutant) Patched(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, c := range m.changes {
		content, known := files[c.file]
		if !known {
			data, err := os.ReadFile(filepath.Join(root, c.file))
			if err != nil {
				return nil, fmt.Errorf("mutant %s does not apply any more: %w", m.Name, err)
			}
			content = string(data)
		}
		if n := strings.Count(content, c.before); n != 1 {
			return nil, fmt.Errorf("mutant %s does not apply any more: %s has these lines %d times, not once:\n%s", m.Name, c.file, n, c.before)
		}
		files[c.file] = strings.Replace(content, c.before, c.after, 1)
	}
	return files, nil
}

// Build compiles the mutant of the repository in root, and returns the path of the program in folder. It does not change the sources: the compiler
// gets the changed files as an overlay, and takes everything else from its cache.
func (m Mutant) Build(ctx context.Context, root, folder string) (string, error) {
	return m.compile(ctx, root, folder, "controller", "build", "-ldflags=-s -w", "./cmd/controller")
}

// BuildTests compiles the tests of a package against the mutant, and returns the path of the test program in folder.
func (m Mutant) BuildTests(ctx context.Context, root, folder, path string) (string, error) {
	return m.compile(ctx, root, folder, "tests", "test", "-c", "./"+path)
}

// compile runs the go command with the changed files, and returns the path of the program.
func (m Mutant) compile(ctx context.Context, root, folder, program, command string, arguments ...string) (string, error) {
	folder, err := filepath.Abs(filepath.Join(folder, m.Name))
	if err != nil {
		return "", err
	}
	list, err := m.Overlay(root, folder)
	if err != nil {
		return "", err
	}
	program = filepath.Join(folder, program)
	build := exec.CommandContext(ctx, "go", append([]string{command, "-overlay", list, "-o", program}, arguments...)...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mutant %s does not compile: %w\n%s", m.Name, err, out)
	}
	return program, nil
}

// Overlay writes the changed files and an overlay list for the go command to folder. It returns the path of the list.
func (m Mutant) Overlay(root, folder string) (string, error) {
	files, err := m.Patched(root)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, content := range files {
		path := filepath.Join(folder, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return "", err
		}
		overlay.Replace[filepath.FromSlash(file)] = path
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	list := filepath.Join(folder, "overlay.json")
	return list, os.WriteFile(list, data, 0o644)
}
