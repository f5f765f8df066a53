package main

import (
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// rewriteAll rewrites a source with all of its sites that compile.
func rewriteAll(t *testing.T, content string) (sites []string, rewritten string) {
	t.Helper()
	positions, info := token.NewFileSet(), &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	file, err := parse(positions, "a.go", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&types.Config{Importer: importer.Default()}).Check("a", positions, []*ast.File{file}, info); err != nil {
		t.Fatal(err)
	}
	var chosen []numbered
	for _, each := range sitesIn("a.go", positions, file) {
		one := numbered{each, len(chosen) + 1}
		if s := newSource(content, positions, file, info, []numbered{one}); s.isValid(s.nodes[0]) {
			chosen, sites = append(chosen, one), append(sites, each.String())
		}
	}
	return sites, newSource(content, positions, file, info, chosen).rewritten()
}

func TestRewrite(t *testing.T) {
	const head = "package a\n\n"
	tests := map[string]struct{ before, after string }{
		"a comparison": {"func f(x, y int) bool { return x < y }",
			"func f(x, y int) bool { return (mutantOn(1) && (x <= y) || mutantOn(2) && (x >= y) || !mutantOn(1) && !mutantOn(2) && (x < y)) }"},
		"one inside another": {"func f(x, y bool) bool { return x && !y }",
			"func f(x, y bool) bool { return (mutantOn(1) && (x || (mutantOn(2) == (y))) || !mutantOn(1) && (x && (mutantOn(2) == (y)))) }"},
		"two beside each other": {"func f(x, y bool) (a, b bool) { return !x, !y }",
			"func f(x, y bool) (a, b bool) { return (mutantOn(1) == (x)), (mutantOn(2) == (y)) }"},
		"a sum":                     {"func f(x, y int) int { return x + y }", `func f(x, y int) int { return mutantCompute(mutantOn(1), "+", "-", x, y) }`},
		"texts are left alone":      {"func f(x, y string) string { return x + y }", "func f(x, y string) string { return x + y }"},
		"constants are left alone":  {"const c = 2 * 3", "const c = 2 * 3"},
		"a count":                   {"func f(x int32) int32 { x++; return x }", "func f(x int32) int32 { x += mutantSign(mutantOn(1), x, 1); return x }"},
		"an addition to a variable": {"func f(x, y int) int { x -= y; return x }", "func f(x, y int) int { x -= mutantSign(mutantOn(1), x, y); return x }"},
		"one of a constant, to a named type": {"type size uint8\n\nfunc f(x size) size { x += 2; return x }",
			"type size uint8\n\nfunc f(x size) size { x += mutantSign(mutantOn(1), x, 2); return x }"},
		"a comparison with a constant": {"func f(x int) bool { return x == 0 }", "func f(x int) bool { return (mutantOn(1) && (x != 0) || !mutantOn(1) && (x == 0)) }"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, got := rewriteAll(t, head+test.before); got != head+test.after {
				t.Errorf("got  %s\nwant %s", strings.TrimPrefix(got, head), test.after)
			}
		})
	}
}

// The mutants of a site are named after what they change.
func TestSiteNames(t *testing.T) {
	got, _ := rewriteAll(t, "package a\n\nfunc f(x int, y bool) bool {\n\treturn x > 0 && !y\n}\n")
	want := []string{"a.go:4 || for &&", "a.go:4 >= for >", "a.go:4 <= for >", "a.go:4 without !"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
