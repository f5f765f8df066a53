package pkg

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/mycompany/podmanager/"

// layers are all packages of the product, each above those that it may import.
var layers = []string{
	"pkg/apis/podmanager/v1",
	"pkg/apis/podmanager/v1alpha1",
	"pkg/bounds",
	"pkg/generated",
	"pkg/consistency",
	"pkg/policy",
	"pkg/shard",

	"pkg/plan/podstate",
	"pkg/plan/history",
	"pkg/plan/requeue",
	"pkg/plan/compare",
	"pkg/plan/inplace",
	"pkg/plan/health",
	"pkg/plan/leaving",
	"pkg/plan/rollout",
	"pkg/plan/status",
	"pkg/plan",
	"pkg/plan/plantest",
	"pkg/world/dice",
	"pkg/world/nodes",
	"pkg/world/users",
	"pkg/world",

	"pkg/controller/metrics",
	"pkg/controller/access",
	"pkg/controller/syncstate",
	"pkg/controller/queue",
	"pkg/controller/source",
	"pkg/controller/reconcile",
	"pkg/controller/executor",
	"pkg/controller/report",
	"pkg/controller",
	"pkg/clients",
	"pkg/leader",
	"pkg/serve",
	"pkg/webhook/metrics",
	"pkg/webhook/validation",
	"pkg/webhook/conversion",
	"pkg/webhook/certificates",
	"pkg/webhook",

	"pkg/plugin/text",
	"pkg/plugin/plugintest",
	"pkg/plugin/output",
	"pkg/plugin/rights",
	"pkg/plugin/budget",
	"pkg/plugin/follow",
	"pkg/plugin/snapshot",
	"pkg/plugin/tree",
	"pkg/plugin/revisions",
	"pkg/plugin/why",
	"pkg/plugin/change",
	"pkg/plugin/surge",
	"pkg/plugin/check",
	"pkg/plugin/manifest",
	"pkg/plugin/simulate",
	"pkg/plugin/convert",
	"pkg/plugin/live",
	"pkg/plugin/cluster",
	"pkg/plugin",

	"cmd/controller/app",
	"cmd/controller",
	"cmd/kubectl-podmanager",
}

// testOnly are packages that only tests may import. simulators are those of them that pkg/plugin/simulate may import, too.
var (
	testOnly   = []string{"pkg/plan/plantest", "pkg/plugin/plugintest", "pkg/world", "pkg/world/dice", "pkg/world/nodes", "pkg/world/users"}
	simulators = []string{"pkg/world", "pkg/world/nodes"}
)

// Imports only point down.
func TestImportsPointDown(t *testing.T) {
	eachFile(t, func(t *testing.T, path string, file *ast.File) {
		own := layerOf(filepath.Dir(path))
		if own < 0 {
			t.Errorf("%s: the package has no layer yet, give it one", path)
			return
		}
		isTest := strings.HasSuffix(path, "_test.go") || slices.Contains(testOnly, layers[own])
		for _, imported := range importsOf(t, file) {
			name, isOurs := strings.CutPrefix(imported, module)
			if !isOurs {
				continue
			}
			layer := layerOf(name)
			switch isTestOnly := layer >= 0 && slices.Contains(testOnly, layers[layer]); {
			case isTestOnly && !isTest && !(layers[own] == "pkg/plugin/simulate" && slices.Contains(simulators, name)):
				t.Errorf("%s imports %s, which is for tests", path, name)
			case strings.HasSuffix(path, "_test.go"): // a test may import packages above its own
			case layer < 0:
				t.Errorf("%s imports %s, which has no layer", path, name)
			case layer > own || layer == own && layers[layer] != "pkg/generated":
				t.Errorf("%s imports %s, which is above it", path, name)
			}
		}
	})
}

// Only conversion knows another version than v1: all else has to work while no webhook answers.
func TestOnlyConversionKnowsOtherVersions(t *testing.T) {
	eachFile(t, func(t *testing.T, path string, file *ast.File) {
		for _, may := range []string{"pkg/generated/", "pkg/apis/podmanager/v1alpha1/", "pkg/webhook/conversion/"} {
			if strings.HasPrefix(path, may) {
				return
			}
		}
		for _, imported := range importsOf(t, file) {
			if strings.HasPrefix(imported, module) && strings.Contains(imported, "/v1alpha1") {
				t.Errorf("%s imports %s", path, imported)
			}
		}
		ast.Inspect(file, func(node ast.Node) bool { // of a clientset, an informer factory or a lister
			if call, isSelector := node.(*ast.SelectorExpr); isSelector && (call.Sel.Name == "AppsV1alpha1" || call.Sel.Name == "V1alpha1") {
				t.Errorf("%s uses %s", path, call.Sel.Name)
			}
			return true
		})
	})
}

// What decides is pure: it has no clients, writes no logs, and is told the time.
func TestPlanIsPure(t *testing.T) {
	eachFile(t, func(t *testing.T, path string, file *ast.File) {
		if !strings.HasPrefix(path, "pkg/plan/") || strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, imported := range importsOf(t, file) {
			if strings.HasPrefix(imported, "k8s.io/client-go") || strings.HasPrefix(imported, "k8s.io/klog") {
				t.Errorf("%s imports %s", path, imported)
			}
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, isSelector := node.(*ast.SelectorExpr)
			if !isSelector {
				return true
			}
			if pkg, isName := call.X.(*ast.Ident); isName && pkg.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep"}, call.Sel.Name) {
				t.Errorf("%s asks for the time itself: time.%s", path, call.Sel.Name)
			}
			return true
		})
	})
}

// The doc.go of every package says in a few lines what lives there, and names each file if there are several.
func TestPackagesAreDescribed(t *testing.T) {
	const most = 20
	described, files := map[string]string{}, map[string][]string{}
	eachFile(t, func(t *testing.T, path string, file *ast.File) {
		name, dir := filepath.Base(path), filepath.Dir(path)
		switch {
		case name == "doc.go" && file.Doc != nil:
			described[dir] = file.Doc.Text()
			if lines := strings.Count(file.Doc.Text(), "\n"); lines > most {
				t.Errorf("%s has %d lines, at most %d: a longer one is not read", path, lines, most)
			}
		case strings.HasPrefix(path, "pkg/generated/") || ast.IsGenerated(file) || strings.HasSuffix(name, "_test.go"):
		default:
			files[dir] = append(files[dir], name)
		}
	})
	for _, layer := range layers {
		switch {
		case layer == "pkg/generated":
		case described[layer] == "":
			t.Errorf("%s has no doc.go that says what lives there", layer)
		case len(files[layer]) > 1:
			for _, name := range files[layer] {
				if !strings.Contains(described[layer], name) {
					t.Errorf("%s: doc.go does not say what %s has", layer, name)
				}
			}
		}
	}
}

// eachFile calls for each Go file of the product, with its path from the project's root.
func eachFile(t *testing.T, call func(t *testing.T, path string, file *ast.File)) {
	t.Helper()
	for _, root := range []string{"pkg", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", root), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			if path = filepath.ToSlash(strings.TrimPrefix(path, "../")); filepath.Dir(path) != "pkg" { // the tests of pkg as a whole
				call(t, path, file)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func importsOf(t *testing.T, file *ast.File) []string {
	t.Helper()
	var paths []string
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// layerOf is the layer of a package; below 0 if it has none.
func layerOf(path string) int {
	if strings.HasPrefix(path, "pkg/generated/") {
		path = "pkg/generated"
	}
	return slices.Index(layers, path)
}
