package convert

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Any file converts to a single PodManager with the notes as comments. No input can break out of the comments, neither into the manifest nor into
// the script.
func FuzzConvert(f *testing.F) {
	f.Add([]byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2, strategy: {rollingUpdate: {maxSurge: 150%}}, template: {spec: {containers: [{name: app}]}}}"), "")
	f.Add([]byte("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web, labels: {helm.sh/chart: x}}\nspec: {minReadySeconds: 900, ordinals: {start: 1}, updateStrategy: {type: OnDelete}}"), "db")
	f.Add([]byte("apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet\nmetadata: {name: web}\nspec: {scaleStrategy: {podsToDelete: [\"a\\nspec: {replicas: 0}\"]}}"), "")
	f.Add([]byte(`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web\n---"},"spec":{"x\nkind: Pod":1,"template":{"metadata":{"annotations":{"apps.mycompany.com/delete":"true"}},"y\r\u2028z":2}}}`), "web")
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a}, spec: 5}, 7]"), "")
	f.Add([]byte("---\n---\n# nothing\n"), "")
	f.Add([]byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n"+
		"metadata: {name: \"a\\nspec: {paused: true}\"}\nspec: {scaleTargetRef: {kind: Deployment, name: web}}"), "")
	f.Add([]byte(`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web","annotations":{"a":"\u007f"}},"spec":{"replicas":1}}`), "")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		file, err := Documents(data)
		if err != nil {
			return
		}
		for _, object := range file.Objects {
			before := object.DeepCopy()
			result, err := Convert(object, Options{Name: name, Autoscalers: file.Autoscalers})
			if !reflect.DeepEqual(before, object) {
				t.Errorf("the object became %v", object)
			}
			if err != nil {
				continue
			}
			checkManifest(t, result)
			checkScript(t, object, result)
		}
	})
}

func checkManifest(t *testing.T, result Result) {
	t.Helper()
	manifest, err := result.Manifest()
	if err != nil {
		return // the error reports what cannot be written
	}
	read := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &read); err != nil {
		t.Fatalf("%v in\n%s", err, manifest)
	}
	plain, err := yaml.Marshal(result.Manager.Object)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	if err := yaml.Unmarshal(plain, &want); err != nil || !reflect.DeepEqual(read, want) {
		t.Errorf("read as %v, want %v\n%s", read, want, manifest)
	}
	if got := strings.Count(manifest, "\n"); got != len(result.Notes)+1+strings.Count(string(plain), "\n") {
		t.Errorf("%d lines with %d notes:\n%s", got, len(result.Notes), manifest)
	}
}

// checkScript checks the script. Its names have passed the API server's validation. All other input appears only in the notes and the manifest.
func checkScript(t *testing.T, object *unstructured.Unstructured, result Result) {
	t.Helper()
	live := object.DeepCopy()
	live.SetName("web")
	live.SetUID(types.UID("uid"))
	live.SetGeneration(1)
	live.Object["status"] = map[string]any{"replicas": int64(1), "updatedReplicas": int64(1), "observedGeneration": int64(1)}
	if unstructured.SetNestedField(live.Object, int64(1), "spec", "replicas") != nil {
		return
	}
	result.Manager.SetName("web")
	script, err := Adopt(live, result, Live{Sets: []Set{{Name: "web-1", UID: "uid-1", Replicas: 1}}}, "deployments.apps")
	if err != nil {
		return
	}
	lines := strings.Split(script, "\n")
	end := slices.Index(lines, "set -eu")
	if end < 0 {
		t.Fatalf("no commands in\n%s", script)
	}
	for _, line := range lines[:end] {
		if !strings.HasPrefix(line, "#") {
			t.Errorf("%q is a command, and no note, in\n%s", line, script)
		}
	}
	if got := slices.Index(lines, "EOF"); got < 0 || lines[got+1] != "\ttries=0" {
		t.Errorf("the manifest ends too early:\n%s", script)
	}
}
