package states

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the files anew")

// customization is where Argo CD's layout wants the files of a kind. The tests of the other tools read the states there.
const customization = root + "artifacts/integrations/argocd/apps.mycompany.com/PodManager/"

// fileOf returns the file of a state.
func fileOf(name string) string {
	return filepath.Join(customization, "testdata", strings.Trim(regexp.MustCompile(`[^a-z]+`).ReplaceAllString(name, "-"), "-")+".yaml")
}

// Each file has the object as the controller leaves it in that state.
func TestStates(t *testing.T) {
	files := []string{}
	for _, states := range []map[string]func(*space){judged, further} {
		for name, reach := range states {
			files = append(files, fileOf(name))
			t.Run(name, func(t *testing.T) {
				simulate(t, func(s *space) {
					reach(s)
					object, err := s.objects.Get(s.ctx, "web", metav1.GetOptions{})
					s.check(err)
					withoutChance(object)
					golden(t, fileOf(name), times.ReplaceAll(inYAML(t, object), []byte("${1}0Z")))
				})
			})
		}
	}
	found, err := filepath.Glob(filepath.Join(customization, "testdata", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		if !slices.Contains(files, file) {
			t.Errorf("%s belongs to no state", file)
		}
	}
}

// times matches the times of an object except for their last digit: the order of concurrent requests may delay a status write by a second.
var times = regexp.MustCompile(`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d)\dZ`)

func inYAML(t *testing.T, object *unstructured.Unstructured) []byte {
	t.Helper()
	data, err := yaml.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// golden compares data with a file. With the flag -update it writes the file.
func golden(t *testing.T, file string, data []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s\nIf that is right: go test ./hack/sim/states -update", file, data, want)
	}
}

// withoutChance removes what depends on chance: on the order of requests that are sent at the same time, or on the order in which a map is read.
func withoutChance(object *unstructured.Unstructured) {
	object.SetManagedFields(nil)
	object.SetResourceVersion("")
	if conditions, found, _ := unstructured.NestedSlice(object.Object, "status", "conditions"); found {
		slices.SortFunc(conditions, func(a, b any) int {
			return strings.Compare(a.(map[string]any)["type"].(string), b.(map[string]any)["type"].(string))
		})
		_ = unstructured.SetNestedSlice(object.Object, conditions, "status", "conditions") // fails only if the status is no object
	}
	failing, found, _ := unstructured.NestedSlice(object.Object, "status", "rollout", "failing")
	if !found {
		return
	}
	for i := range failing {
		failing[i].(map[string]any)["uid"] = "00000000-0000-4000-8000-000000000000"
	}
	_ = unstructured.SetNestedSlice(object.Object, failing, "status", "rollout", "failing") // fails only if the rollout is no object
}

// hack/test/core asks kstatus about the same states on a real API server, under the same names. It has one more, "none", which has no object.
func TestStatesAreThoseOfKstatus(t *testing.T) {
	asked := []string{}
	for _, file := range []string{"kstatus_test.go", "kstatus_states_test.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), root+"hack/test/core/"+file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			asked = append(asked, statesIn(node)...)
			return true
		})
	}
	asked = slices.DeleteFunc(asked, func(name string) bool { return name == "none" })
	slices.Sort(asked)
	if names := slices.Sorted(maps.Keys(judged)); !slices.Equal(asked, names) {
		t.Errorf("hack/test/core has the states\n%q, this package has\n%q", asked, names)
	}
}

// statesIn returns the keys of a literal of type map[string]kstatusState.
func statesIn(node ast.Node) (names []string) {
	literal, isLiteral := node.(*ast.CompositeLit)
	if !isLiteral {
		return nil
	}
	kind, isMap := literal.Type.(*ast.MapType)
	if !isMap {
		return nil
	}
	if value, isName := kind.Value.(*ast.Ident); !isName || value.Name != "kstatusState" {
		return nil
	}
	for _, element := range literal.Elts {
		pair, isPair := element.(*ast.KeyValueExpr)
		if !isPair {
			continue
		}
		if key, isString := pair.Key.(*ast.BasicLit); isString {
			name, _ := strconv.Unquote(key.Value) // the parser has accepted it
			names = append(names, name)
		}
	}
	return names
}
