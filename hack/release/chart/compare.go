package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// The differences that are allowed.
var (
	// addedLabels are labels that the chart adds to its objects, besides the manifests' labels. This applies only to the objects' own labels:
	// selectors and pod labels must be the same.
	addedLabels = []string{"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "app.kubernetes.io/instance", "app.kubernetes.io/name"}
	// addedAnnotations are for Helm only.
	addedAnnotations = []string{"helm.sh/resource-policy"}
	// notInChart has the namespace, which helm install --create-namespace creates.
	notInChart = []string{"Namespace podmanager-system"}
)

// objects has Kubernetes objects by kind, namespace and name.
type objects map[string]unstructured.Unstructured

func readObjects(data []byte) (objects, error) {
	all := objects{}
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var object unstructured.Unstructured
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, err
		}
		if len(object.Object) == 0 {
			continue // the document has only comments
		}
		name := object.GetKind() + " " + object.GetName()
		if object.GetNamespace() != "" {
			name = object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
		}
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("%s occurs twice", name)
		}
		all[name] = object
	}
}

// differences returns the differences between the chart and the manifests that are not allowed.
func differences(manifests, chart objects) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		object, ok := chart[name]
		switch {
		case ok:
			withoutAdded(&object, manifests[name])
			for _, difference := range compare("", manifests[name].Object, object.Object) {
				found = append(found, name+": "+strings.TrimPrefix(difference, "."))
			}
		case !slices.Contains(notInChart, name):
			found = append(found, name+": not in the chart")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(chart)) {
		if _, ok := manifests[name]; !ok {
			found = append(found, name+": only in the chart")
		}
	}
	return found
}

// withoutAdded removes what Helm adds, unless the manifest has it, too.
func withoutAdded(object *unstructured.Unstructured, manifest unstructured.Unstructured) {
	strip := func(values, wanted map[string]string, added []string) map[string]string {
		for _, key := range added {
			if _, ok := wanted[key]; !ok {
				delete(values, key)
			}
		}
		if len(values) == 0 {
			return nil // then the setters remove the field
		}
		return values
	}
	object.SetLabels(strip(object.GetLabels(), manifest.GetLabels(), addedLabels))
	object.SetAnnotations(strip(object.GetAnnotations(), manifest.GetAnnotations(), addedAnnotations))
}

// compare describes each difference by its path.
func compare(path string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			return compareMaps(path, want, got)
		}
	case []any:
		if got, ok := got.([]any); ok && len(got) == len(want) {
			var found []string
			for i := range want {
				found = append(found, compare(fmt.Sprintf("%s[%d]", path, i), want[i], got[i])...)
			}
			return found
		}
	}
	if wanted, is := text(want), text(got); wanted != is {
		return []string{fmt.Sprintf("%s is %s in artifacts, %s in the chart", path, wanted, is)}
	}
	return nil
}

func compareMaps(path string, want, got map[string]any) []string {
	keys := maps.Clone(want)
	maps.Copy(keys, got)
	var found []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		found = append(found, compare(path+"."+key, want[key], got[key])...)
	}
	return found
}

func text(value any) string {
	if value == nil {
		return "missing"
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
