package argocd

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v3/util/lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// verbTime is the time at which hack/sim/states uses the plugin's verbs.
const verbTime = "2026-01-02T03:04:05Z"

// run runs an action on an object, and returns what Argo CD would write.
func run(t *testing.T, vm lua.VM, web *unstructured.Unstructured, action string) (*unstructured.Unstructured, error) {
	t.Helper()
	definition, err := vm.GetResourceAction(web, action)
	if err != nil || definition.ActionLua != read(t, scripts+"actions/"+action+"/action.lua") {
		t.Fatalf("argocd-cm.yaml does not have the action %s: %v", action, err)
	}
	changed, err := vm.ExecuteResourceAction(web, definition.ActionLua, nil)
	if err != nil {
		return nil, err
	}
	if len(changed) != 1 || changed[0].K8SOperation != lua.PatchOperation {
		t.Fatalf("%s changes %+v, want one patch", action, changed)
	}
	return changed[0].UnstructuredObj, nil
}

func restartAt(web *unstructured.Unstructured) string {
	at, _, _ := unstructured.NestedString(web.Object, "spec", "restartAt")
	return at
}

// inJSON returns an object in JSON, in which numbers of all Go types look alike.
func inJSON(t *testing.T, web *unstructured.Unstructured) string {
	t.Helper()
	data, err := json.MarshalIndent(web.Object, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Each action writes what the plugin's verb of the same name writes, which hack/sim/states stores beside the cases.
func TestActions(t *testing.T) {
	var cases actionCases
	decode(t, scripts+"actions/action_test.yaml", &cases)
	vm := fromConfigMap(t)
	for _, test := range cases.ActionTests {
		t.Run(test.Action+" "+test.InputPath, func(t *testing.T) {
			before := time.Now().UTC().Format(time.RFC3339)
			got, err := run(t, vm, object(t, filepath.Join(scripts, "actions", test.InputPath)), test.Action)
			after := time.Now().UTC().Format(time.RFC3339)
			if test.ExpectedErrorMessage != "" {
				if err == nil || err.Error() != test.ExpectedErrorMessage {
					t.Errorf("got the error %v, want %s", err, test.ExpectedErrorMessage)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := object(t, filepath.Join(scripts, "actions", test.ExpectedOutputPath))
			if at := restartAt(got); restartAt(want) == verbTime && at >= before && at <= after {
				_ = unstructured.SetNestedField(got.Object, verbTime, "spec", "restartAt") // fails only without a spec
			}
			if inJSON(t, got) != inJSON(t, want) {
				t.Errorf("got\n%s\nwant\n%s", inJSON(t, got), inJSON(t, want))
			}
		})
	}
}

// A restart also counts if the last one was in the same second, or if restartAt is in the future.
func TestRestartAgain(t *testing.T) {
	vm := fromConfigMap(t)
	for _, action := range []string{"restart", "retry"} {
		for _, last := range []string{time.Now().UTC().Format(time.RFC3339), "2038-01-19T03:14:07Z", "2099-12-31T23:59:59Z"} {
			web := object(t, scripts+"testdata/halted.yaml")
			if err := unstructured.SetNestedField(web.Object, last, "spec", "restartAt"); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				got, err := run(t, vm, web, action)
				if err != nil {
					t.Fatal(err)
				}
				at, err := time.Parse(time.RFC3339, restartAt(got))
				if err != nil || restartAt(got) <= last || last > "2030" && restartAt(got) != next(t, last) {
					t.Fatalf("%s after %s is at %s: %v", action, last, at, err)
				}
				web, last = got, restartAt(got)
			}
		}
	}
}

// next returns the second after a time.
func next(t *testing.T, last string) string {
	t.Helper()
	at, err := time.Parse(time.RFC3339, last)
	if err != nil {
		t.Fatal(err)
	}
	return at.Add(time.Second).Format(time.RFC3339)
}
