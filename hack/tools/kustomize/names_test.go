package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// referenceFields are the fields of a pod template that name another object, by the type that has them, with the kind of that object. Some types have
// the field from an embedded LocalObjectReference.
var referenceFields = map[string]string{
	"ConfigMapKeySelector.name":                   "ConfigMap",
	"ConfigMapEnvSource.name":                     "ConfigMap",
	"ConfigMapVolumeSource.name":                  "ConfigMap",
	"ConfigMapProjection.name":                    "ConfigMap",
	"SecretKeySelector.name":                      "Secret",
	"SecretEnvSource.name":                        "Secret",
	"SecretProjection.name":                       "Secret",
	"SecretVolumeSource.secretName":               "Secret",
	"AzureFileVolumeSource.secretName":            "Secret",
	"LocalObjectReference.name":                   "Secret",
	"PodSpec.serviceAccountName":                  "ServiceAccount",
	"PodSpec.serviceAccount":                      "ServiceAccount",
	"PersistentVolumeClaimVolumeSource.claimName": "PersistentVolumeClaim",
	"PersistentVolumeClaimSpec.storageClassName":  "StorageClass",
	"PodSpec.priorityClassName":                   "PriorityClass",
	"PodSpec.runtimeClassName":                    "RuntimeClass",
	"PodResourceClaim.resourceClaimName":          "ResourceClaim",
	"PodResourceClaim.resourceClaimTemplateName":  "ResourceClaimTemplate",
}

var apiVersions = map[string]string{
	"ConfigMap": "v1", "Secret": "v1", "ServiceAccount": "v1", "PersistentVolumeClaim": "v1", "StorageClass": "storage.k8s.io/v1",
	"PriorityClass": "scheduling.k8s.io/v1", "RuntimeClass": "node.k8s.io/v1",
	"ResourceClaim": "resource.k8s.io/v1", "ResourceClaimTemplate": "resource.k8s.io/v1",
}

// place is a field of a pod template that names an object.
type place struct {
	path []string // with [] after a list
	kind string
}

// places returns all fields below a type that name an object. It uses the Go types, so that it finds fields that a new version of Kubernetes adds.
func places(parent reflect.Type, path []string, seen map[string]bool) []place {
	var found []place
	for i := range parent.NumField() {
		field := parent.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "ephemeralContainers" { // no pod can be created with them
			continue
		}
		kind, here := field.Type, path
		if name != "" {
			here = append(slices.Clone(path), name)
		}
		for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
			if kind.Kind() == reflect.Slice {
				here = append(here, "[]")
			}
			kind = kind.Elem()
		}
		owner := parent.Name() + "." + name
		if kind.Name() == "LocalObjectReference" && field.Anonymous {
			owner, here = parent.Name()+".name", append(slices.Clone(path), "name")
		}
		switch {
		case referenceFields[owner] != "":
			seen[owner] = true
			found = append(found, place{here, referenceFields[owner]})
		case kind.Name() == "LocalObjectReference" && field.Anonymous:
			seen["unknown "+owner] = true
		case kind.Kind() == reflect.Struct:
			found = append(found, places(kind, here, seen)...)
		}
	}
	return found
}

// wrap returns an object with a value at a path.
func wrap(path []string, value any) any {
	for _, key := range slices.Backward(path) {
		if key == "[]" {
			value = []any{value}
		} else {
			value = map[string]any{key: value}
		}
	}
	return value
}

// If Kustomize renames an object, every name of it in a template changes, too. There is a PodManager for each place, so that none hides another.
func TestNamesInTheTemplate(t *testing.T) {
	seen := map[string]bool{}
	all := places(reflect.TypeFor[corev1.PodTemplateSpec](), []string{"spec", "template"}, seen)
	for owner := range referenceFields {
		if !seen[owner] {
			t.Errorf("%s is not a field of a pod template", owner)
		}
	}
	for owner := range seen {
		if strings.HasPrefix(owner, "unknown ") {
			t.Errorf("%s: which kind does it name?", owner)
		}
	}
	objects, want := "", map[string]string{}
	for kind, version := range apiVersions {
		objects += fmt.Sprintf("---\n{apiVersion: %s, kind: %s, metadata: {name: it}}\n", version, kind)
	}
	for i, one := range all {
		manager := wrap(one.path, "it").(map[string]any)
		manager["apiVersion"], manager["kind"] = "apps.mycompany.com/v1", "PodManager"
		manager["metadata"] = map[string]any{"name": fmt.Sprint("pm", i)}
		data, err := yaml.Marshal(manager)
		if err != nil {
			t.Fatal(err)
		}
		objects += "---\n" + string(data)
		want[fmt.Sprintf("PodManager dev-pm%d: %s", i, strings.ReplaceAll(strings.Join(one.path, "."), "[]", "0"))] = "dev-it"
	}
	if len(all) < 25 {
		t.Errorf("only %d places were found", len(all))
	}
	expect(t, objects, "namePrefix: dev-", want, nil)
}

// A generated ConfigMap has the hash of its content in its name: the template changes with the content, and so the pods are replaced.
func TestHashes(t *testing.T) {
	objects := `
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: web}
spec: {template: {spec: {containers: [{name: nginx, envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: keys}}]}]}}}
`
	generators := "configMapGenerator: [{name: settings, literals: [a=%s]}]\nsecretGenerator: [{name: keys, literals: [b=c]}]\n"
	names := map[string]bool{}
	for _, value := range []string{"1", "2"} {
		built, err := build(files{"/app/objects.yaml": objects, "/app/kustomization.yaml": kustomization(true, fmt.Sprintf(generators, value))}, "/app")
		if err != nil {
			t.Fatal(err)
		}
		for i, kind := range []string{"ConfigMap", "Secret"} {
			name := get(built["PodManager web"], fmt.Sprintf("spec.template.spec.containers.0.envFrom.%d.%sRef.name", i, []string{"configMap", "secret"}[i]))
			if built[kind+" "+name] == nil {
				t.Errorf("the PodManager names the %s %s, which is not there", kind, name)
			}
			names[name] = true
		}
	}
	if len(names) != 3 {
		t.Errorf("the names are %v, want two of ConfigMaps and one of a Secret", names)
	}
}

// If Kustomize renames a PodManager, the objects that scale or select it use the new name.
func TestNamesOfThePodManager(t *testing.T) {
	manager := "{apiVersion: apps.mycompany.com/v1, kind: PodManager, metadata: {name: web}, spec: {image: nginx}}\n---\n"
	selector := "{matchLabels: {podmanager: web, app: web}}"
	tests := map[string]struct{ object, path string }{
		"HPA": {"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: x}, " +
			"spec: {scaleTargetRef: {apiVersion: apps.mycompany.com/v1, kind: PodManager, name: web}}}", "spec.scaleTargetRef.name"},
		"KEDA": {"{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: x}, " +
			"spec: {scaleTargetRef: {apiVersion: apps.mycompany.com/v1, kind: PodManager, name: web}}}", "spec.scaleTargetRef.name"},
		"VPA": {"{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: x}, " +
			"spec: {targetRef: {apiVersion: apps.mycompany.com/v1, kind: PodManager, name: web}}}", "spec.targetRef.name"},
		"Service": {"{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {selector: {podmanager: web, app: web}}}", "spec.selector.podmanager"},
		"PodDisruptionBudget": {"{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: x}, spec: {selector: " + selector + "}}",
			"spec.selector.matchLabels.podmanager"},
		"PodMonitor": {"{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: x}, spec: {selector: " + selector + "}}",
			"spec.selector.matchLabels.podmanager"},
		"NetworkPolicy": {"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x}, spec: {podSelector: " + selector + "}}",
			"spec.podSelector.matchLabels.podmanager"},
		"NetworkPolicy from": {"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x}, " +
			"spec: {podSelector: {}, ingress: [{from: [{podSelector: " + selector + "}]}]}}", "spec.ingress.0.from.0.podSelector.matchLabels.podmanager"},
		"NetworkPolicy to": {"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x}, " +
			"spec: {podSelector: {}, egress: [{to: [{podSelector: " + selector + "}]}]}}", "spec.egress.0.to.0.podSelector.matchLabels.podmanager"},
		"the template's own label": {"{apiVersion: apps.mycompany.com/v1, kind: PodManager, metadata: {name: x}, " +
			"spec: {template: {metadata: {labels: {podmanager: web}}}}}", "spec.template.metadata.labels.podmanager"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var object struct{ Kind string }
			if err := yaml.Unmarshal([]byte(test.object), &object); err != nil {
				t.Fatal(err)
			}
			expect(t, manager+test.object, "namePrefix: dev-", map[string]string{object.Kind + " dev-x: " + test.path: "dev-web"}, nil)
		})
	}
}

// If Kustomize renames a PodManager, the placement rules that select its pods use the new name. A workload of any kind can have such rules.
func TestNamesInPlacements(t *testing.T) {
	manager := "{apiVersion: apps.mycompany.com/v1, kind: PodManager, metadata: {name: web}, spec: {image: nginx}}\n---\n"
	for _, path := range placements {
		for kind, version := range map[string]string{"PodManager": "apps.mycompany.com/v1", "Deployment": "apps/v1", "StatefulSet": "apps/v1"} {
			if kind != "PodManager" && strings.HasPrefix(path, "topology") { // these spread a workload's own pods
				continue
			}
			t.Run(kind+" "+path, func(t *testing.T) {
				steps := strings.Split("spec.template.spec."+strings.ReplaceAll(path, ".0.", ".[].")+".podmanager", ".")
				object := wrap(steps, "web").(map[string]any)
				object["apiVersion"], object["kind"], object["metadata"] = version, kind, map[string]any{"name": "x"}
				data, err := yaml.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				place := kind + " dev-x: spec.template.spec." + path + ".podmanager"
				expect(t, manager+string(data), "namePrefix: dev-", map[string]string{place: "dev-web"}, nil)
			})
		}
	}
}
