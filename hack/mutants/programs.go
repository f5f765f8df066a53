package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Name, Dir, Export      string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// list lists the packages of the planner and everything that they import. If a package is not compiled yet, the go command compiles it.
func list(ctx context.Context, root string) ([]listed, error) {
	command := exec.CommandContext(ctx, "go", "list", "-deps", "-export", "-json=ImportPath,Name,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles", "./"+planner+"/...")
	command.Dir, command.Stderr = root, os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, err
	}
	var all []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var each listed
		switch err := decoder.Decode(&each); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, each)
	}
}

// program is the test program of a package.
type program struct {
	path, dir string
	// takes is how long its tests take without a mutant, reached has the numbers of the mutants whose sites they reach.
	takes   time.Duration
	reached map[int]bool
}

// sample is a number of mutants by rule, and the programs that have all of them.
type sample struct {
	mutants  []numbered
	programs []*program
}

// build chooses mutants among the sites, in their order, and builds the test programs of all packages of the planner with them. Sites whose mutants
// would not compile are left out.
func (h hunt) build(ctx context.Context, sites []site, most int) (*sample, error) {
	packages, err := list(ctx, h.root)
	if err != nil {
		return nil, err
	}
	root, err := filepath.Abs(h.root)
	if err != nil {
		return nil, err
	}
	checked := map[string]*checkedFile{}
	var own []listed
	for _, each := range packages {
		if !strings.HasPrefix(each.Dir, filepath.Join(root, planner)) {
			continue
		}
		own = append(own, each)
		if err := check(each, root, packages, checked); err != nil {
			return nil, err
		}
	}
	chosen, byFile := choose(sites, checked, most)
	overlay, err := h.writeSources(root, own, checked, byFile)
	if err != nil {
		return nil, err
	}
	programs, err := h.compile(ctx, own, overlay)
	return &sample{chosen, programs}, err
}

// checkedFile is a file with the types of its expressions.
type checkedFile struct {
	content   string
	positions *token.FileSet
	file      *ast.File
	types     *types.Info
}

// check finds the types of all expressions in the files of a package.
func check(of listed, root string, packages []listed, checked map[string]*checkedFile) error {
	positions, info := token.NewFileSet(), &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	var files []*ast.File
	for _, name := range of.GoFiles {
		path := filepath.Join(of.Dir, name)
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parse(positions, path, content)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files = append(files, file)
		checked[filepath.ToSlash(relative)] = &checkedFile{string(content), positions, file, info}
	}
	open := func(path string) (io.ReadCloser, error) {
		at := slices.IndexFunc(packages, func(p listed) bool { return p.ImportPath == path })
		if at < 0 {
			return nil, fmt.Errorf("%s is not compiled", path)
		}
		return os.Open(packages[at].Export)
	}
	config := types.Config{Importer: importer.ForCompiler(positions, "gc", open)}
	_, err := config.Check(of.ImportPath, positions, files, info)
	return err
}

// choose returns the first sites whose mutants compile, as one list and grouped by file.
func choose(sites []site, checked map[string]*checkedFile, most int) (chosen []numbered, byFile map[string][]numbered) {
	byFile = map[string][]numbered{}
	for _, each := range sites {
		file, one := checked[each.file], numbered{each, len(chosen) + 1}
		if len(chosen) == most || file == nil {
			continue
		}
		if s := newSource(file.content, file.positions, file.file, file.types, []numbered{one}); len(s.nodes) == 1 && s.isValid(s.nodes[0]) {
			chosen, byFile[each.file] = append(chosen, one), append(byFile[each.file], one)
		}
	}
	return chosen, byFile
}

// writeSources writes the rewritten files, and returns the path of the list that the go command takes them from.
func (h hunt) writeSources(root string, packages []listed, checked map[string]*checkedFile, byFile map[string][]numbered) (string, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	write := func(path, content string) error {
		to := filepath.Join(h.folder, strconv.Itoa(len(overlay.Replace))+".go")
		overlay.Replace[path] = to
		return os.WriteFile(to, []byte(content), 0o600)
	}
	for name, sites := range byFile {
		file := checked[name]
		if err := write(filepath.Join(root, name), newSource(file.content, file.positions, file.file, file.types, sites).rewritten()); err != nil {
			return "", err
		}
	}
	for _, each := range packages {
		if err := write(filepath.Join(each.Dir, "mutant_switches.go"), fmt.Sprintf(switches, each.Name)); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	path := filepath.Join(h.folder, "sources.json")
	return path, os.WriteFile(path, data, 0o600)
}

// compile builds the test program of each package that has tests.
func (h hunt) compile(ctx context.Context, packages []listed, overlay string) ([]*program, error) {
	folder := filepath.Join(h.folder, "programs")
	arguments := []string{"test", "-c", "-vet=off", "-overlay", overlay, "-o", folder + string(filepath.Separator)}
	var programs []*program
	for _, each := range packages {
		if len(each.TestGoFiles)+len(each.XTestGoFiles) > 0 {
			arguments = append(arguments, each.ImportPath)
			programs = append(programs, &program{path: filepath.Join(folder, filepath.Base(each.ImportPath)+".test"), dir: each.Dir})
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = h.root
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the rewritten planner does not compile: %w\n%s", err, out)
	}
	return programs, nil
}
