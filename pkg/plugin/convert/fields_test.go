package convert

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// cloneSetSpec has the fields of a CloneSet's spec. OpenKruise is not a dependency.
type cloneSetSpec struct {
	Replicas             *int32                         `json:"replicas"`
	Selector             *metav1.LabelSelector          `json:"selector"`
	Template             corev1.PodTemplateSpec         `json:"template"`
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates"`
	ScaleStrategy        struct {
		PodsToDelete    []string            `json:"podsToDelete"`
		MaxUnavailable  *intstr.IntOrString `json:"maxUnavailable"`
		DisablePVCReuse bool                `json:"disablePVCReuse"`
	} `json:"scaleStrategy"`
	UpdateStrategy struct {
		Type                  string               `json:"type"`
		Partition             *intstr.IntOrString  `json:"partition"`
		MaxUnavailable        *intstr.IntOrString  `json:"maxUnavailable"`
		MaxSurge              *intstr.IntOrString  `json:"maxSurge"`
		Paused                bool                 `json:"paused"`
		PriorityStrategy      *struct{ W string }  `json:"priorityStrategy"`
		ScatterStrategy       []struct{ K string } `json:"scatterStrategy"`
		InPlaceUpdateStrategy *struct {
			GracePeriodSeconds int32 `json:"gracePeriodSeconds"`
		} `json:"inPlaceUpdateStrategy"`
	} `json:"updateStrategy"`
	RevisionHistoryLimit    *int32 `json:"revisionHistoryLimit"`
	MinReadySeconds         int32  `json:"minReadySeconds"`
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds"`
	Lifecycle               *struct {
		PreDelete     *struct{ F string } `json:"preDelete"`
		InPlaceUpdate *struct{ F string } `json:"inPlaceUpdate"`
		PreNormal     *struct{ F string } `json:"preNormal"`
	} `json:"lifecycle"`
}

// whole lists types that are converted, refused or reported as a whole.
var whole = []reflect.Type{
	reflect.TypeFor[corev1.PodTemplateSpec](), reflect.TypeFor[metav1.LabelSelector](), reflect.TypeFor[corev1.PersistentVolumeClaim](),
}

// samples are values for fields that do not accept any value, or whose usual value has no effect.
var samples = map[string]any{"podManagementPolicy": "Parallel", "persistentVolumeClaimRetentionPolicy": "Delete"}

// fieldsOf calls each with the path of every field of a type, and a value for it.
func fieldsOf(kind reflect.Type, path []string, each func(path []string, value any)) {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch {
	case len(path) > 0 && samples[path[len(path)-1]] != nil:
		each(path, samples[path[len(path)-1]])
	case kind == reflect.TypeFor[intstr.IntOrString]():
		each(path, int64(7))
	case slices.Contains(whole, kind):
		each(path, map[string]any{"matchLabels": map[string]any{"x": "y"}, "metadata": map[string]any{"labels": map[string]any{"x": "y"}}})
	case kind.Kind() == reflect.Struct:
		for i := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if name == "" {
				name = strings.ToLower(kind.Field(i).Name)
			}
			fieldsOf(kind.Field(i).Type, slices.Concat(path, []string{name}), each)
		}
	case kind.Kind() == reflect.Slice:
		each(path, []any{"x"})
	case kind.Kind() == reflect.Bool:
		each(path, true)
	case kind.Kind() == reflect.String:
		each(path, "x")
	default:
		each(path, int64(7))
	}
}

// outcome returns everything that a conversion reports.
func outcome(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	result, err := Convert(object, Options{})
	if err != nil {
		return err.Error()
	}
	data, err := json.Marshal(result.Manager)
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + "\n" + strings.Join(result.Notes, "\n")
}

func minimal(kind, apiVersion string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{}}}},
	}}
}

// Each field of the source is converted, reported or refused, so setting it changes the outcome. This test fails if Kubernetes adds a field.
func TestNoFieldIsDropped(t *testing.T) {
	for _, source := range []struct {
		kind, apiVersion string
		spec             reflect.Type
		fields           int
	}{
		{"Deployment", "apps/v1", reflect.TypeFor[appsv1.DeploymentSpec](), 10},
		{"ReplicaSet", "apps/v1", reflect.TypeFor[appsv1.ReplicaSetSpec](), 4},
		{"StatefulSet", "apps/v1", reflect.TypeFor[appsv1.StatefulSetSpec](), 13},
		{"CloneSet", "apps.kruise.io/v1alpha1", reflect.TypeFor[cloneSetSpec](), 21},
	} {
		base, fields := outcome(t, minimal(source.kind, source.apiVersion)), 0
		fieldsOf(source.spec, nil, func(path []string, value any) {
			fields++
			object := minimal(source.kind, source.apiVersion)
			if err := unstructured.SetNestedField(object.Object, value, append([]string{"spec"}, path...)...); err != nil {
				t.Fatal(err)
			}
			switch got := outcome(t, object); {
			case got == base:
				t.Errorf("%s: %s is dropped silently", source.kind, strings.Join(path, "."))
			case strings.Contains(got, "convert does not know this field"):
				t.Errorf("%s: %s is new, decide what becomes of it: %s", source.kind, strings.Join(path, "."), got)
			}
		})
		if fields < source.fields {
			t.Errorf("%s: only %d fields were tried", source.kind, fields)
		}
	}
}

// The same holds for the metadata of the object and of the template.
func TestNoMetadataIsDropped(t *testing.T) {
	values := map[string]any{
		"labels": map[string]any{"x": "y"}, "annotations": map[string]any{"x": "y"}, "finalizers": []any{"x/y"}, "name": "other",
		"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "u"}},
	}
	for _, path := range [][]string{{"metadata"}, {"spec", "template", "metadata"}} {
		base := outcome(t, minimal("Deployment", "apps/v1"))
		meta := reflect.TypeFor[metav1.ObjectMeta]()
		for i := range meta.NumField() {
			name, _, _ := strings.Cut(meta.Field(i).Tag.Get("json"), ",")
			if slices.Contains(serverSet, name) {
				continue
			}
			value := values[name]
			if value == nil {
				value = "x"
			}
			object := minimal("Deployment", "apps/v1")
			if err := unstructured.SetNestedField(object.Object, value, slices.Concat(path, []string{name})...); err != nil {
				t.Fatal(err)
			}
			if outcome(t, object) == base {
				t.Errorf("%v.%s is dropped silently", path, name)
			}
		}
	}
}

// Unknown fields are reported, wherever they are.
func TestUnknownFieldsAreTold(t *testing.T) {
	for _, path := range [][]string{{"spec", "new"}, {"spec", "strategy", "new"}, {"spec", "strategy", "rollingUpdate", "new"}, {"data"}} {
		object := minimal("Deployment", "apps/v1")
		if err := unstructured.SetNestedField(object.Object, "x", path...); err != nil {
			t.Fatal(err)
		}
		if got, want := outcome(t, object), fmt.Sprintf("\n%s: convert does not know this field", strings.Join(path, ".")); !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
}
