package argocd

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/gitops-engine/pkg/health"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	integration = "../../../artifacts/integrations/argocd/"
	scripts     = integration + key + "/"
	// key is how Argo CD names the kind, in folders and in its settings.
	key = "apps.mycompany.com/PodManager"
)

// read returns the content of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// decode reads a YAML file whose fields are all known.
func decode(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(read(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// object returns the object of a file. Its numbers are int64, as in Argo CD's caches.
func object(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	found := &unstructured.Unstructured{}
	if err := found.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return found
}

// files returns the files of all states.
func files(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(scripts + "testdata/*.yaml")
	if err != nil || len(found) == 0 {
		t.Fatalf("no states: %v", err)
	}
	return found
}

// fromConfigMap returns a VM that knows only the scripts in argocd-cm.yaml.
func fromConfigMap(t *testing.T) lua.VM {
	t.Helper()
	var config struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Data             map[string]string
	}
	decode(t, integration+"argocd-cm.yaml", &config)
	if config.APIVersion != "v1" || config.Kind != "ConfigMap" || config.Metadata.Name != "argocd-cm" || len(config.Data) != 2 {
		t.Fatalf("argocd-cm.yaml is %s %s %s with %d values", config.APIVersion, config.Kind, config.Metadata.Name, len(config.Data))
	}
	// In names of settings, an underscore stands for the slash.
	suffix := strings.ReplaceAll(key, "/", "_")
	override := v1alpha1.ResourceOverride{
		HealthLua: config.Data["resource.customizations.health."+suffix], Actions: config.Data["resource.customizations.actions."+suffix],
	}
	return lua.VM{ResourceOverrides: map[string]v1alpha1.ResourceOverride{key: override}}
}

// The health of every state is that of health_test.yaml, which has the form of Argo CD's own tests.
func TestHealth(t *testing.T) {
	var cases struct {
		Tests []struct {
			InputPath    string
			HealthStatus health.HealthStatus
		}
	}
	decode(t, scripts+"health_test.yaml", &cases)
	vm, tested := fromConfigMap(t), []string{}
	for _, test := range cases.Tests {
		tested = append(tested, scripts+test.InputPath)
		t.Run(test.InputPath, func(t *testing.T) {
			web := object(t, scripts+test.InputPath)
			got, err := vm.ExecuteHealthLua(web, read(t, scripts+"health.lua"))
			if err != nil || *got != test.HealthStatus {
				t.Errorf("got %+v, %v, want %+v", got, err, test.HealthStatus)
			}
			installed, isOpen, err := vm.GetHealthScript(web)
			if err != nil || installed != read(t, scripts+"health.lua") || isOpen {
				t.Errorf("argocd-cm.yaml does not have health.lua: %v, libraries %t", err, isOpen)
			}
		})
	}
	slices.Sort(tested)
	if !slices.Equal(tested, files(t)) {
		t.Errorf("health_test.yaml has %q, the states are %q", tested, files(t))
	}
}

// Without a status, the health is not that of a finished rollout either. The CRD's default prevents that, but Argo CD may see a CRD without it.
func TestHealthWithoutStatus(t *testing.T) {
	for name, remove := range map[string][]string{
		"status": {"status"}, "observedGeneration": {"status", "observedGeneration"}, "conditions": {"status", "conditions"},
	} {
		t.Run(name, func(t *testing.T) {
			web := object(t, scripts+"testdata/ready.yaml")
			unstructured.RemoveNestedField(web.Object, remove...)
			got, err := lua.VM{}.ExecuteHealthLua(web, read(t, scripts+"health.lua"))
			if err != nil || got.Status != health.HealthStatusProgressing {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// actionCases is a test of actions in the form of Argo CD's own tests.
type actionCases struct {
	DiscoveryTests []struct {
		InputPath string
		Result    []v1alpha1.ResourceAction
	}
	ActionTests []struct {
		Action, InputPath, ExpectedOutputPath, ExpectedErrorMessage string
	}
}

// Every state offers the actions that make sense in it.
func TestDiscovery(t *testing.T) {
	var cases actionCases
	decode(t, scripts+"actions/action_test.yaml", &cases)
	vm, tested := fromConfigMap(t), []string{}
	for _, test := range cases.DiscoveryTests {
		path := filepath.Join(scripts, "actions", test.InputPath)
		tested = append(tested, path)
		t.Run(test.InputPath, func(t *testing.T) {
			web := object(t, path)
			discovery, err := vm.GetResourceActionDiscovery(web)
			if err != nil || !slices.Equal(discovery, []string{read(t, scripts+"actions/discovery.lua")}) {
				t.Fatalf("argocd-cm.yaml does not have discovery.lua: %v", err)
			}
			got, err := vm.ExecuteResourceActionDiscovery(web, discovery)
			slices.SortFunc(got, func(a, b v1alpha1.ResourceAction) int { return strings.Compare(a.Name, b.Name) })
			if err != nil || !reflect.DeepEqual(got, test.Result) {
				t.Errorf("got %+v, %v, want %+v", got, err, test.Result)
			}
		})
	}
	slices.Sort(tested)
	if !slices.Equal(tested, files(t)) {
		t.Errorf("action_test.yaml has %q, the states are %q", tested, files(t))
	}
}
