package output_test

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plugin/output"
)

func TestPrint(t *testing.T) {
	list := &v1.PodManagerList{Items: []v1.PodManager{{ObjectMeta: metav1.ObjectMeta{
		Name: "web", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}}}
	tests := map[string]struct {
		format Format
		value  any
		want   string
		fails  bool
	}{
		"name":                          {"name", list, "pm/web\n", false},
		"jsonpath":                      {"jsonpath={.items[*].metadata.name}", list, "web", false},
		"a field that is missing":       {"jsonpath={.items[0].metadata.labels}", list, "", false},
		"managedFields are not shown":   {"jsonpath={.items[0].metadata.managedFields}", list, "", false},
		"yaml of what is no object":     {"yaml", map[string]any{"b": 1, "a": "<x>"}, "a: <x>\nb: 1\n", false},
		"json":                          {"json", map[string]string{"a": "<x>"}, "{\n    \"a\": \"<x>\"\n}\n", false},
		"a format that is not known":    {"wide", list, "", true},
		"a template that is not closed": {"jsonpath={.items", list, "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := test.format.Print(&out, test.value, "pm/web")
			if out.String() != test.want || (err != nil) != test.fails {
				t.Errorf("got %q, %v", out.String(), err)
			}
		})
	}
}
