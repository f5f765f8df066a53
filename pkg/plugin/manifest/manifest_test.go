package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plugin/manifest"
)

const head = "apiVersion: apps.mycompany.com/v1\nkind: PodManager\n"

func TestRead(t *testing.T) {
	web, api := head+"metadata: {name: web}\nspec: {image: a}\n", head+"metadata: {name: api}\nspec: {image: b}\n"
	other := "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
	tests := map[string]struct{ data, name, want, err string }{
		"one":                     {web, "", "web", ""},
		"as JSON":                 {`{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"web"},"spec":{"image":"a"}}`, "", "web", ""},
		"among others":            {other + "---\n# a comment\n---\n" + web, "", "web", ""},
		"the one that is named":   {web + "---\n" + api, "api", "api", ""},
		"several":                 {web + "---\n" + api, "", "", "several PodManagers; name one of them: web, api"},
		"the same twice":          {web + "---\n" + web, "web", "", "several PodManagers named web"},
		"another name":            {web, "api", "", "no PodManager api, but web"},
		"another kind":            {other, "", "", "no PodManager, but Service"},
		"nothing":                 {"", "", "", "is empty"},
		"another version":         {strings.Replace(web, "/v1", "/v2", 1), "", "", "this plugin knows apps.mycompany.com/v1"},
		"a field that is unknown": {strings.Replace(web, "image", "imag", 1), "", "", `unknown field "imag"`},
		"no name":                 {head + "spec: {image: a}", "", "", "no metadata.name"},
		"no YAML":                 {"a: b: c", "", "", "mapping values"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Read("file", []byte(test.data), test.name)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			if err != nil || got.Manager.Name != test.want {
				t.Errorf("got %v, %v", got.Manager, err)
			}
		})
	}
}

// live was applied with an image and two labels. Since then an autoscaler has set the replicas, and the API server a default.
func live() *v1.PodManager {
	return &v1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", Labels: map[string]string{"a": "1", "b": "2", "c": "of another client"}, Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager",` +
				`"metadata":{"annotations":{},"labels":{"a":"1","b":"2"},"name":"web","namespace":"ns"},"spec":{"image":"old","minReadySeconds":5}}`,
		}},
		Spec: v1.PodManagerSpec{Image: "old", MinReadySeconds: 5, Replicas: ptr.To[int32](7), ProgressDeadlineSeconds: ptr.To[int32](600)},
	}
}

// Fields that only the last applied file sets are removed. Fields that other clients set are kept.
func TestPatch(t *testing.T) {
	file, err := Read("file", []byte(head+"metadata: {name: web, labels: {a: x}}\nspec: {template: {spec: {containers: [{name: app, image: new}]}}}"), "")
	if err != nil {
		t.Fatal(err)
	}
	patch, err := file.Patch(live())
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(patch)
	const want = `{"metadata":{"annotations":{},"labels":{"a":"x","b":null},"name":"web","namespace":"ns"},` +
		`"spec":{"image":null,"minReadySeconds":null,"template":{"spec":{"containers":[{"image":"new","name":"app"}]}}}}`
	if string(data) != want {
		t.Errorf("got %s", data)
	}
	merged, err := file.Merged(live())
	if err != nil {
		t.Fatal(err)
	}
	spec := merged.Spec
	if spec.Image != "" || spec.MinReadySeconds != 0 || *spec.Replicas != 7 || *spec.ProgressDeadlineSeconds != 600 || spec.Template.Spec.Containers[0].Image != "new" {
		t.Errorf("merged: %+v", spec)
	}
	if labels := merged.Labels; len(labels) != 2 || labels["a"] != "x" || labels["c"] == "" || merged.Annotations[corev1.LastAppliedConfigAnnotation] == "" {
		t.Errorf("merged: %+v", merged.ObjectMeta)
	}
}

func TestApplier(t *testing.T) {
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource}
	}
	m := live()
	if got := Applier(m); got != "kubectl" || !IsMerged(m) {
		t.Errorf("got %s", got)
	}
	m.Annotations = nil
	m.ManagedFields = []metav1.ManagedFieldsEntry{
		entry("kustomize-controller", metav1.ManagedFieldsOperationApply, ""), entry("someone", metav1.ManagedFieldsOperationUpdate, ""),
		entry("podmanager-controller", metav1.ManagedFieldsOperationApply, "status"),
	}
	if got := Applier(m); got != "kustomize-controller" || IsMerged(m) {
		t.Errorf("got %s", got)
	}
}
