package autoscalers

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

const artifacts = "../../../artifacts"

// example reads the object of a kind from a file, and fails if it has a field that its type does not have.
func example(t *testing.T, file, kind string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(artifacts, "integrations/examples", file))
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(data), "\n---\n") {
		var object metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(part), &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind != kind {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(part), into); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("%s has no %s", file, kind)
}

// definition has the fields of a CRD that the tests need.
type definition struct {
	Spec struct {
		Group    string
		Names    struct{ Kind, Plural, Singular string }
		Versions []struct {
			Name         string
			Subresources struct {
				Scale struct{ LabelSelectorPath string }
			}
		}
	}
}

// readDefinition reads the CRD of PodManagers.
func readDefinition(t *testing.T) definition {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(artifacts, "crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd definition
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// mapper returns a RESTMapper that knows PodManagers.
func mapper(t *testing.T) meta.RESTMapper {
	t.Helper()
	crd := readDefinition(t)
	version := schema.GroupVersion{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{version})
	mapper.Add(version.WithKind(crd.Spec.Names.Kind), meta.RESTScopeNamespace)
	return mapper
}

// serve starts an API server that serves PodManagers as the CRD says, and nothing else.
func serve(t *testing.T) *rest.Config {
	t.Helper()
	crd := readDefinition(t)
	group, version, names := crd.Spec.Group, crd.Spec.Versions[0].Name, crd.Spec.Names
	groupVersion := metav1.GroupVersionForDiscovery{GroupVersion: group + "/" + version, Version: version}
	answer := func(object any) http.HandlerFunc {
		return func(response http.ResponseWriter, _ *http.Request) {
			response.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(response).Encode(object); err != nil {
				t.Error(err)
			}
		}
	}
	api := http.NewServeMux()
	api.HandleFunc("GET /api", answer(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}}))
	api.HandleFunc("GET /apis", answer(metav1.APIGroupList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
		Groups:   []metav1.APIGroup{{Name: group, Versions: []metav1.GroupVersionForDiscovery{groupVersion}, PreferredVersion: groupVersion}},
	}))
	api.HandleFunc("GET /apis/"+group+"/"+version, answer(metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: group + "/" + version,
		APIResources: []metav1.APIResource{
			{Name: names.Plural, SingularName: names.Singular, Namespaced: true, Kind: names.Kind, Verbs: []string{"get"}},
			{Name: names.Plural + "/scale", Namespaced: true, Group: "autoscaling", Version: "v1", Kind: "Scale", Verbs: []string{"get"}},
		},
	}))
	// The selector is the one that the controller writes to the status; the API server takes it from the path that the CRD declares.
	api.HandleFunc("GET /apis/"+group+"/"+version+"/namespaces/{namespace}/"+names.Plural+"/{name}/scale",
		func(response http.ResponseWriter, request *http.Request) {
			scale := autoscalingv1.Scale{TypeMeta: metav1.TypeMeta{Kind: "Scale", APIVersion: "autoscaling/v1"}}
			scale.Namespace, scale.Name = request.PathValue("namespace"), request.PathValue("name")
			if crd.Spec.Versions[0].Subresources.Scale.LabelSelectorPath == ".status.selector" {
				scale.Status.Selector = "podmanager=" + scale.Name
			}
			answer(scale)(response, request)
		})
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}
