package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/podmanager/pkg/policy"
)

var testBundling = bundling{
	version: "v0.2.0", image: image{"registry.example.com/podmanager", "v0.2.0", testDigest}, created: "2026-01-31T12:00:00Z", platforms: "linux/amd64 linux/arm64",
}

// testBundle returns the files of the tree's bundle by name, and the printed output.
func testBundle(t *testing.T, b bundling) (map[string]string, string) {
	t.Helper()
	var told strings.Builder
	files, err := b.files(artifacts, &told)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]string{}
	for _, file := range files {
		byName[file.name] = string(file.data)
	}
	return byName, told.String()
}

func serviceVersionOf(t *testing.T, files map[string]string) map[string]any {
	t.Helper()
	var csv map[string]any
	if err := yaml.Unmarshal([]byte(files["manifests/podmanager.clusterserviceversion.yaml"]), &csv); err != nil {
		t.Fatal(err)
	}
	return csv
}

// TestBundleFiles checks that the bundle has what OLM accepts, and nothing that OLM creates itself or refuses.
func TestBundleFiles(t *testing.T) {
	files, told := testBundle(t, testBundling)
	for _, want := range []string{
		"bundle.Dockerfile", "metadata/annotations.yaml", "manifests/podmanager.clusterserviceversion.yaml",
		"manifests/podmanagers.apps.mycompany.com.customresourcedefinition.yaml", "manifests/podmanager-controller.poddisruptionbudget.yaml",
		"manifests/podmanager-metrics-reader.clusterrole.yaml", "manifests/podmanager-view.clusterrole.yaml", "manifests/podmanager-edit.clusterrole.yaml",
	} {
		if files[want] == "" {
			t.Errorf("%s is missing", want)
		}
	}
	for name, text := range files {
		if strings.HasPrefix(name, "manifests/") && strings.Contains(text, "\n  namespace:") {
			t.Errorf("%s has a namespace, which OLM has to choose", name)
		}
		for _, kind := range []string{"serviceaccount", "binding", "namespace.", "quota", "networkpolicy", "controller.clusterrole", "deployment"} {
			if strings.Contains(name, kind) {
				t.Errorf("%s is in the bundle", name)
			}
		}
	}
	if description := text(serviceVersionOf(t, files), "spec", "description"); !strings.Contains(description, policy.Apply) {
		t.Errorf("the description does not say how to apply the policies:\n%s", description)
	}
	for _, want := range []string{"ValidatingAdmissionPolicy podmanager-pod-rights", "ValidatingAdmissionPolicyBinding podmanager-revision-rights",
		"Namespace podmanager-system", "ResourceQuota podmanager-controller", "NetworkPolicy podmanager-controller"} {
		if !strings.Contains(told, want+" is left out: ") {
			t.Errorf("the output does not say that %s is left out:\n%s", want, told)
		}
	}
}

// rulesOf returns the rules of the roles with these names in artifacts/rbac.yaml.
func rulesOf(t *testing.T, kind string, names ...string) []rbacv1.PolicyRule {
	t.Helper()
	data, err := os.ReadFile(artifacts + "/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for part := range strings.SplitSeq(string(data), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(part), &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind == kind && slices.Contains(names, role.Name) {
			rules = append(rules, role.Rules...)
		}
	}
	return rules
}

func TestBundlePermissions(t *testing.T) {
	files, _ := testBundle(t, testBundling)
	install := at(serviceVersionOf(t, files), "spec", "install", "spec")
	for field, want := range map[string][]rbacv1.PolicyRule{
		"clusterPermissions": rulesOf(t, "ClusterRole", "podmanager-controller", "podmanager-metrics-auth"),
		"permissions":        rulesOf(t, "Role", "podmanager-controller-lease"),
	} {
		data, err := json.Marshal(at(install, field))
		if err != nil {
			t.Fatal(err)
		}
		var got []struct {
			ServiceAccountName string
			Rules              []rbacv1.PolicyRule
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].ServiceAccountName != "podmanager-controller" || len(want) == 0 || !reflect.DeepEqual(got[0].Rules, want) {
			t.Errorf("%s are %+v, want those of podmanager-controller: %+v", field, got, want)
		}
	}
}

func TestBundleServiceVersion(t *testing.T) {
	b := testBundling
	b.replaces = "v0.1.0"
	files, _ := testBundle(t, b)
	csv := serviceVersionOf(t, files)
	deployments, _ := at(csv, "spec", "install", "spec", "deployments").([]any)
	containers, _ := at(deployments[0], "spec", "template", "spec", "containers").([]any)
	related, _ := at(csv, "spec", "relatedImages").([]any)
	const pinned = "registry.example.com/podmanager@" + testDigest
	for _, check := range []struct {
		what, got, want string
	}{
		{"name", text(csv, "metadata", "name"), "podmanager.v0.2.0"},
		{"version", text(csv, "spec", "version"), "0.2.0"},
		{"replaces", text(csv, "spec", "replaces"), "podmanager.v0.1.0"},
		{"minKubeVersion", text(csv, "spec", "minKubeVersion"), "1.34.0"},
		{"createdAt", text(csv, "metadata", "annotations", "createdAt"), "2026-01-31T12:00:00Z"},
		{"containerImage", text(csv, "metadata", "annotations", "containerImage"), pinned},
		{"image", text(containers[0], "image"), pinned},
		{"relatedImages", text(related[0], "image"), pinned},
		{"arm64", text(csv, "metadata", "labels", "operatorframework.io/arch.arm64"), "supported"},
		{"namespace", text(csv, "metadata", "annotations", "operatorframework.io/suggested-namespace"), "podmanager-system"},
	} {
		if check.got != check.want {
			t.Errorf("%s is %q, want %q", check.what, check.got, check.want)
		}
	}
	var examples []map[string]any
	if err := json.Unmarshal([]byte(text(csv, "metadata", "annotations", "alm-examples")), &examples); err != nil || len(examples) != 4 {
		t.Errorf("%d examples (error %v), want 4", len(examples), err)
	}
	icons, _ := at(csv, "spec", "icon").([]any)
	drawing, err := base64.StdEncoding.DecodeString(text(icons[0], "base64data"))
	if err != nil || xml.Unmarshal(drawing, new(struct{ XMLName xml.Name })) != nil {
		t.Errorf("the icon is no drawing (error %v): %s", err, drawing)
	}
}

// TestBundleDescriptors checks that the console of OpenShift describes a field like kubectl explain.
func TestBundleDescriptors(t *testing.T) {
	files, _ := testBundle(t, testBundling)
	definitions, _ := at(serviceVersionOf(t, files), "spec", "customresourcedefinitions", "owned").([]any)
	owned := definitions[0]
	if text(owned, "name") != "podmanagers.apps.mycompany.com" || text(owned, "kind") != "PodManager" || text(owned, "version") != "v1" {
		t.Errorf("owned is %s", owned)
	}
	descriptors, _ := at(owned, "specDescriptors").([]any)
	if want := "Replicas is the number of pods to keep running."; len(descriptors) < 10 || text(descriptors[0], "description") != want {
		t.Errorf("the first of %d is %v, want %q", len(descriptors), descriptors[0], want)
	}
	spec := map[string]any{"customresourcedefinitions": map[string]any{"owned": []any{
		map[string]any{"statusDescriptors": []any{map[string]any{"path": "rollout.nowhere"}}},
	}}}
	var crd map[string]any
	if err := yaml.Unmarshal([]byte(files["manifests/podmanagers.apps.mycompany.com.customresourcedefinition.yaml"]), &crd); err != nil {
		t.Fatal(err)
	}
	if err := addDefinition(spec, crd); err == nil || !strings.Contains(err.Error(), "status.rollout.nowhere") {
		t.Errorf("error %v, want one that names the field that is not there", err)
	}
}

func TestBundleMetadata(t *testing.T) {
	files, _ := testBundle(t, testBundling)
	var annotations struct{ Annotations map[string]string }
	if err := yaml.Unmarshal([]byte(files["metadata/annotations.yaml"]), &annotations); err != nil || len(annotations.Annotations) != 6 {
		t.Fatalf("annotations %v, error %v; want 6", annotations.Annotations, err)
	}
	for key, value := range annotations.Annotations {
		if !strings.Contains(files["bundle.Dockerfile"], "\nLABEL "+key+"="+value+"\n") {
			t.Errorf("%s=%s is not in\n%s", key, value, files["bundle.Dockerfile"])
		}
	}
	for _, want := range []string{"COPY manifests /manifests/\n", "COPY metadata /metadata/\n"} {
		if !strings.Contains(files["bundle.Dockerfile"], want) {
			t.Errorf("%q is not in\n%s", want, files["bundle.Dockerfile"])
		}
	}
	if got := testBundling.metadata("stable")[0]; !strings.Contains(string(got.data), "channels.v1: stable\n") {
		t.Errorf("a stable version is in\n%s", got.data)
	}
	candidate := bundling{version: "v1.0.0-rc.1"}
	if got := candidate.metadata("stable")[0]; !strings.Contains(string(got.data), "channels.v1: candidate\n") {
		t.Errorf("a candidate is in\n%s", got.data)
	}
}
