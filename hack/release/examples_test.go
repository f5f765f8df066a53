package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// elsewhere has the kinds of other projects, and their field that names the object to scale. hack/tools/autoscalers tests objects of these kinds
// with the types of those projects.
var elsewhere = map[string]string{
	"keda.sh/v1alpha1 ScaledObject":               "scaleTargetRef",
	"autoscaling.k8s.io/v1 VerticalPodAutoscaler": "targetRef",
}

// decodeStrictly returns the object of a document, and fails if the document has a field that its type does not have, or has one twice.
func decodeStrictly(t *testing.T, document string) runtime.Object {
	t.Helper()
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1.Install} {
		if err := add(all); err != nil {
			t.Fatal(err)
		}
	}
	object, _, err := serializer.NewCodecFactory(all, serializer.EnableStrict).UniversalDeserializer().Decode([]byte(document), nil, nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
	return object
}

// TestExamples checks that the examples have no field that the API does not have, and that the other objects in a file refer to its PodManager.
func TestExamples(t *testing.T) {
	for _, folder := range []string{"examples", "integrations/examples"} {
		files, err := filepath.Glob(filepath.Join(artifacts, folder, "*.yaml"))
		if err != nil || len(files) < 4 {
			t.Fatalf("%d files in %s, error %v", len(files), folder, err)
		}
		for _, file := range files {
			t.Run(folder+"/"+filepath.Base(file), func(t *testing.T) { checkExample(t, file) })
		}
	}
}

// checkExample checks a file with a PodManager and what goes with it. The PodManager comes first.
func checkExample(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(data), "\n---\n")
	manager, ok := decodeStrictly(t, documents[0]).(*v1.PodManager)
	if !ok {
		t.Fatal("the first object is not a PodManager")
	}
	if (manager.Spec.Image == "") == (manager.Spec.Template == nil) {
		t.Error("the PodManager has both image and template, or neither")
	}
	for _, document := range documents[1:] {
		if target := targetOf(t, document); target != v1.GroupVersion.String()+" "+v1.Kind+" "+manager.Name {
			t.Errorf("this object refers to %q, and not to the PodManager %s:\n%s", target, manager.Name, document)
		}
	}
}

// targetOf returns what an object scales or selects: apiVersion, kind and name.
func targetOf(t *testing.T, document string) string {
	t.Helper()
	var other map[string]any
	if err := yaml.Unmarshal([]byte(document), &other); err != nil {
		t.Fatal(err)
	}
	if field, ok := elsewhere[text(other, "apiVersion")+" "+text(other, "kind")]; ok {
		return text(other, "spec", field, "apiVersion") + " " + text(other, "spec", field, "kind") + " " + text(other, "spec", field, "name")
	}
	switch object := decodeStrictly(t, document).(type) {
	case *autoscalingv2.HorizontalPodAutoscaler:
		target := object.Spec.ScaleTargetRef
		return target.APIVersion + " " + target.Kind + " " + target.Name
	case *policyv1.PodDisruptionBudget:
		selector := metav1.FormatLabelSelector(object.Spec.Selector)
		return v1.GroupVersion.String() + " " + v1.Kind + " " + strings.TrimPrefix(selector, v1.LabelManager+"=")
	default:
		t.Fatalf("no check is known for a %T", object)
		return ""
	}
}
