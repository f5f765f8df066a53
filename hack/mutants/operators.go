package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// planner is the folder whose files are mutated.
const planner = "pkg/plan"

// others has the replacements for each operator.
var others = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.INC: {token.DEC}, token.DEC: {token.INC}, token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
}

// site is a place in a file where one token is replaced by another.
type site struct {
	file          string
	line, offset  int
	before, after string
}

// apply returns the content with the token replaced.
func (s site) apply(content string) string {
	return content[:s.offset] + s.after + content[s.offset+len(s.before):]
}

func (s site) String() string {
	if s.after == "" {
		return fmt.Sprintf("%s:%d without %s", s.file, s.line, s.before)
	}
	return fmt.Sprintf("%s:%d %s for %s", s.file, s.line, s.after, s.before)
}

// sites finds all sites in the planner, shuffled by a seed.
func sites(root string, seed uint64) ([]site, error) {
	var all []site
	err := filepath.WalkDir(filepath.Join(root, planner), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "plantest") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		positions := token.NewFileSet()
		file, err := parse(positions, name, content)
		if err != nil {
			return err
		}
		all = append(all, sitesIn(filepath.ToSlash(name), positions, file)...)
		return nil
	})
	dice := rand.New(rand.NewPCG(seed, seed))
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all, err
}

// sitesIn finds the sites in a file.
func sitesIn(name string, positions *token.FileSet, file *ast.File) []site {
	var found []site
	add := func(at token.Pos, operator token.Token, after ...string) {
		where := positions.Position(at)
		for _, other := range others[operator] {
			after = append(after, other.String())
		}
		for _, each := range after {
			found = append(found, site{name, where.Line, where.Offset, operator.String(), each})
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BinaryExpr:
			if !isText(node.X) && !isText(node.Y) {
				add(node.OpPos, node.Op)
			}
		case *ast.IncDecStmt:
			add(node.TokPos, node.Tok)
		case *ast.AssignStmt:
			if slices.Contains([]token.Token{token.ADD_ASSIGN, token.SUB_ASSIGN}, node.Tok) {
				add(node.TokPos, node.Tok)
			}
		case *ast.UnaryExpr:
			if node.Op == token.NOT {
				add(node.OpPos, node.Op, "")
			}
		}
		return true
	})
	return found
}

// isText reports whether an expression is a quoted string, or contains one as an operand. The only operator for strings is +.
func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return isText(e.X) || isText(e.Y)
	default:
		return false
	}
}
