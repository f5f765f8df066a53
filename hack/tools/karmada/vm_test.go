package karmada

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	luajson "layeh.com/gopher-json"
	"sigs.k8s.io/yaml"
)

const artifacts = "../../../artifacts/"

// customization is the file, as Karmada's API declares it.
type customization struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Target struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		} `json:"target"`
		Customizations struct {
			Retention                script `json:"retention"`
			ReplicaResource          script `json:"replicaResource"`
			ReplicaRevision          script `json:"replicaRevision"`
			StatusReflection         script `json:"statusReflection"`
			StatusAggregation        script `json:"statusAggregation"`
			HealthInterpretation     script `json:"healthInterpretation"`
			DependencyInterpretation script `json:"dependencyInterpretation"`
		} `json:"customizations"`
	} `json:"spec"`
}

type script struct {
	LuaScript string `json:"luaScript"`
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(artifacts + path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readCustomization(t *testing.T) customization {
	t.Helper()
	var found customization
	if err := yaml.UnmarshalStrict(read(t, "integrations/karmada/resourceinterpretercustomization.yaml"), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// object is a Kubernetes object, or a part of one.
type object = map[string]any

const testdata = "integrations/argocd/apps.mycompany.com/PodManager/testdata/"

// state returns the PodManager of hack/sim/states in a state, as a member cluster has it.
func state(t *testing.T, name string) object {
	t.Helper()
	found := object{}
	if err := yaml.Unmarshal(read(t, testdata+name+".yaml"), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

func allStates(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(artifacts + testdata + "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no states: %v", err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// forbidden are functions of Lua that Karmada takes away.
var forbidden = []string{
	"collectgarbage", "dofile", "getfenv", "getmetatable", "load", "loadfile", "loadstring", "module", "newproxy", "rawequal", "rawget", "rawset",
	"setfenv", "setmetatable",
}

// newVM returns a Lua VM with the libraries that Karmada allows, or fewer.
func newVM(t *testing.T) *lua.LState {
	t.Helper()
	vm := lua.NewState(lua.Options{SkipOpenLibs: true})
	t.Cleanup(vm.Close)
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := vm.CallByParam(lua.P{Fn: vm.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range forbidden {
		vm.SetGlobal(name, lua.LNil)
	}
	vm.PreloadModule("kube", kube)
	return vm
}

// call loads a script, calls its function, and returns the results as Karmada sees them.
func call(t *testing.T, text script, function string, results int, args ...any) []any {
	t.Helper()
	vm := newVM(t)
	if err := vm.DoString(text.LuaScript); err != nil {
		t.Fatal(err)
	}
	values := []lua.LValue{}
	for _, arg := range args {
		data, err := json.Marshal(arg)
		if err != nil {
			t.Fatal(err)
		}
		value, err := luajson.Decode(vm, data)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := vm.CallByParam(lua.P{Fn: vm.GetGlobal(function), NRet: results, Protect: true}, values...); err != nil {
		t.Fatalf("%s: %v", function, err)
	}
	found := []any{}
	for i := range results {
		data, err := luajson.Encode(vm.Get(i - results))
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(data, &value); err != nil {
			t.Fatal(err)
		}
		found = append(found, value)
	}
	return found
}

// restored returns a result in which empty lists are empty objects again where the reference has them, as Karmada does for the objects that it
// applies.
func restored(result, reference any) any {
	switch value := result.(type) {
	case object:
		known, _ := reference.(object)
		for key := range value {
			value[key] = restored(value[key], known[key])
		}
	case []any:
		known, isList := reference.([]any)
		if len(value) == 0 && !isList {
			return object{}
		}
		for i := range min(len(value), len(known)) {
			value[i] = restored(value[i], known[i])
		}
	}
	return result
}
