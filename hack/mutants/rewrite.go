package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A test program takes much longer to build than to run. So all mutants of the sample are built into the same programs. An environment variable
// selects the mutant to play: at each site, the rewritten source calls mutantOn to find out whether that is the site's mutant.

// switches is a source that is added to each package with sites. If MUTANT_HITS names a file, the program records there which sites it has reached.
const switches = `package %s

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

var (
	mutantNumber, _ = strconv.Atoi(os.Getenv("MUTANT"))
	mutantHits, _   = os.OpenFile(os.Getenv("MUTANT_HITS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	mutantSeen      sync.Map
)

func mutantOn(number int) bool {
	if mutantHits != nil {
		if _, seen := mutantSeen.LoadOrStore(number, true); !seen {
			fmt.Fprintln(mutantHits, number)
		}
	}
	return number == mutantNumber
}

type mutantValue interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

func mutantCompute[T mutantValue](on bool, before, after string, x, y T) T {
	if on {
		before = after
	}
	switch before {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	default:
		return x / y
	}
}

// The second argument of mutantSign is only there for its type, which a constant takes on.
func mutantSign[T mutantValue](on bool, _, x T) T {
	if on {
		return -x
	}
	return x
}
`

// numbered is a site with the number of its mutant.
type numbered struct {
	site
	number int
}

// source is a file to rewrite.
type source struct {
	content   string
	positions *token.FileSet
	types     *types.Info
	// nodes are the expressions and statements that have sites, outer ones before inner ones, and sites has the sites of each.
	nodes []ast.Node
	sites map[ast.Node][]numbered
}

// newSource finds the nodes of the sites in a file.
func newSource(content string, positions *token.FileSet, file *ast.File, info *types.Info, sites []numbered) *source {
	s := &source{content: content, positions: positions, types: info, sites: map[ast.Node][]numbered{}}
	ast.Inspect(file, func(node ast.Node) bool {
		at := operatorOf(node)
		if at == token.NoPos {
			return true
		}
		for _, each := range sites {
			if each.offset == s.offset(at) {
				s.sites[node] = append(s.sites[node], each)
			}
		}
		if len(s.sites[node]) > 0 {
			s.nodes = append(s.nodes, node)
		}
		return true
	})
	return s
}

// operatorOf returns where the operator of a node is, or NoPos if it has none.
func operatorOf(node ast.Node) token.Pos {
	switch node := node.(type) {
	case *ast.BinaryExpr:
		return node.OpPos
	case *ast.UnaryExpr:
		return node.OpPos
	case *ast.IncDecStmt:
		return node.TokPos
	case *ast.AssignStmt:
		return node.TokPos
	default:
		return token.NoPos
	}
}

func (s *source) offset(at token.Pos) int { return s.positions.Position(at).Offset }

// isValid reports whether the mutants of a node compile: its operands are numbers, or it is a comparison or a condition. A constant is not mutated.
func (s *source) isValid(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.BinaryExpr:
		if s.types.Types[node].Value != nil {
			return false
		}
		return slices.Contains([]token.Token{token.LAND, token.LOR, token.EQL, token.NEQ}, node.Op) || isOrdering(node.Op) || s.isNumber(node.X)
	case *ast.IncDecStmt:
		return s.isNumber(node.X)
	case *ast.AssignStmt:
		return s.isNumber(node.Lhs[0])
	default:
		return true
	}
}

func isOrdering(operator token.Token) bool {
	return slices.Contains([]token.Token{token.LSS, token.LEQ, token.GTR, token.GEQ}, operator)
}

func (s *source) isNumber(e ast.Expr) bool {
	basic, isBasic := s.types.TypeOf(e).Underlying().(*types.Basic)
	return isBasic && basic.Info()&types.IsNumeric != 0
}

// rewritten returns the source with a switch at each site.
func (s *source) rewritten() string { return s.render(0, len(s.content), s.nodes) }

// render renders a part of the source, in which only these nodes may be.
func (s *source) render(from, to int, nodes []ast.Node) string {
	var text strings.Builder
	for i, node := range nodes {
		start, end := s.offset(node.Pos()), s.offset(node.End())
		if start < from || end > to {
			continue // outside, or inside a node that is rendered already
		}
		text.WriteString(s.content[from:start])
		text.WriteString(s.renderNode(node, nodes[i+1:]))
		from = end
	}
	text.WriteString(s.content[from:to])
	return text.String()
}

func (s *source) renderNode(node ast.Node, inner []ast.Node) string {
	part := func(e ast.Expr) string { return s.render(s.offset(e.Pos()), s.offset(e.End()), inner) }
	sites := s.sites[node]
	switch node := node.(type) {
	case *ast.UnaryExpr: // the mutant lacks the negation
		return fmt.Sprintf("(mutantOn(%d) == (%s))", sites[0].number, part(node.X))
	case *ast.IncDecStmt:
		sign := map[token.Token]string{token.INC: "+=", token.DEC: "-="}[node.Tok]
		return fmt.Sprintf("%s %s %s", part(node.X), sign, s.signed(sites[0].number, part(node.X), "1"))
	case *ast.AssignStmt:
		return fmt.Sprintf("%s %s %s", part(node.Lhs[0]), node.Tok, s.signed(sites[0].number, part(node.Lhs[0]), part(node.Rhs[0])))
	case *ast.BinaryExpr:
		if !s.isCondition(node) {
			return fmt.Sprintf("mutantCompute(mutantOn(%d), %q, %q, %s, %s)", sites[0].number, node.Op, sites[0].after, part(node.X), part(node.Y))
		}
		var text, others strings.Builder
		for _, each := range sites {
			fmt.Fprintf(&text, "mutantOn(%d) && (%s %s %s) || ", each.number, part(node.X), each.after, part(node.Y))
			fmt.Fprintf(&others, "!mutantOn(%d) && ", each.number)
		}
		return fmt.Sprintf("(%s%s(%s %s %s))", &text, &others, part(node.X), node.Op, part(node.Y))
	}
	return ""
}

func (s *source) isCondition(node *ast.BinaryExpr) bool {
	basic, isBasic := s.types.TypeOf(node).Underlying().(*types.Basic)
	return isBasic && basic.Info()&types.IsBoolean != 0
}

// signed returns an amount, negated by the mutant, to add to target.
func (s *source) signed(number int, target, amount string) string {
	return fmt.Sprintf("mutantSign(mutantOn(%d), %s, %s)", number, target, amount)
}

// parse parses a file of a package.
func parse(positions *token.FileSet, path string, content []byte) (*ast.File, error) {
	return parser.ParseFile(positions, path, content, parser.SkipObjectResolution)
}
