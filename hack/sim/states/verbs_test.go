package states

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/change"
)

// now is the time at which the plugin's verbs are used. Argo CD's actions take the time from the clock, so the tests of Argo CD accept the actual
// time where a file has this one.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// verbs are the plugin's verbs that Argo CD's actions repeat. undo is not among them, because it reads revisions.
var verbs = map[string]func(*v1.PodManager, time.Time) (change.Change, error){
	"restart": change.Restart, "pause": change.Pause, "resume": change.Resume, "retry": change.Retry, "promote": change.Promote(intstr.FromInt32(0)),
}

// actionCase is a test of an action, as Argo CD's own tests write it.
type actionCase struct {
	Action, InputPath, ExpectedOutputPath, ExpectedErrorMessage string
}

func actionCases(t *testing.T) []actionCase {
	t.Helper()
	data, err := os.ReadFile(customization + "actions/action_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		DiscoveryTests []any
		ActionTests    []actionCase
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases.ActionTests
}

// The expected output of each action is what the plugin's verb of the same name writes. If an action must fail, the verb must refuse.
func TestActions(t *testing.T) {
	tested := map[string]bool{}
	for _, test := range actionCases(t) {
		tested[test.Action] = true
		t.Run(test.Action+" "+test.InputPath, func(t *testing.T) {
			data, manager := input(t, test)
			what, err := verbs[test.Action](manager, now)
			if isRefused := test.ExpectedErrorMessage != ""; isRefused || err != nil {
				if isRefused != (err != nil) {
					t.Errorf("the action's error is %q, the verb's is %v", test.ExpectedErrorMessage, err)
				}
				return
			}
			if !what.IsEmpty() {
				data = patched(t, data, what, manager)
			}
			written := &unstructured.Unstructured{}
			if err := written.UnmarshalJSON(data); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(customization, "actions", test.ExpectedOutputPath), inYAML(t, written))
		})
	}
	for verb := range verbs {
		if !tested[verb] {
			t.Errorf("Argo CD's action tests do not cover %s", verb)
		}
	}
}

// input returns the object that a case starts with.
func input(t *testing.T, test actionCase) (data []byte, manager *v1.PodManager) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(customization, "actions", test.InputPath))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = yaml.YAMLToJSON(text); err != nil {
		t.Fatal(err)
	}
	manager = &v1.PodManager{}
	if err := json.Unmarshal(data, manager); err != nil {
		t.Fatal(err)
	}
	return data, manager
}

// patched returns an object with a change applied.
func patched(t *testing.T, data []byte, what change.Change, manager *v1.PodManager) []byte {
	t.Helper()
	document, err := what.Patch(manager)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(document)
	if err != nil {
		t.Fatal(err)
	}
	data, err = patch.Apply(data)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// argocd-cm.yaml has all scripts, for an Argo CD that does not have them built in.
func TestConfigMap(t *testing.T) {
	script := func(name string) string {
		data, err := os.ReadFile(customization + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	definitions := []map[string]string{}
	for verb := range verbs {
		definitions = append(definitions, map[string]string{"name": verb, "action.lua": script("actions/" + verb + "/action.lua")})
	}
	slices.SortFunc(definitions, func(a, b map[string]string) int { return strings.Compare(a["name"], b["name"]) })
	actions, err := yaml.Marshal(map[string]any{"discovery.lua": script("actions/discovery.lua"), "definitions": definitions})
	if err != nil {
		t.Fatal(err)
	}
	const key = "apps.mycompany.com_PodManager"
	data, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]string{"name": "argocd-cm"},
		"data": map[string]string{"resource.customizations.health." + key: script("health.lua"), "resource.customizations.actions." + key: string(actions)},
	})
	if err != nil {
		t.Fatal(err)
	}
	const head = "# Generated from the scripts in apps.mycompany.com/PodManager by go test ./hack/sim/states -update; do not edit.\n"
	golden(t, customization+"../../argocd-cm.yaml", []byte(head+string(data)))
}
