package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/openapi"
)

func TestSchemaIsUpToDate(t *testing.T) {
	var want bytes.Buffer
	openapi.ResetOpenAPI()
	if err := write(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(artifacts, "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("openapi.yaml is out of date; run make generate")
	}
}

// The schema takes the place of the built-in one: it must merge every list of every built-in kind as that one does.
func TestSchemaMergesWhatTheBuiltInMerges(t *testing.T) {
	openapi.ResetOpenAPI()
	all := openapi.Schema().Definitions
	pruned := prune(all)
	fields := 0
	for name, definition := range all {
		for field, property := range definition.Properties {
			if _, ok := property.Extensions[patchStrategy]; !ok {
				continue
			}
			fields++
			got := pruned[name].Properties[field]
			for _, extension := range mergeExtensions {
				if !reflect.DeepEqual(got.Extensions[extension], property.Extensions[extension]) {
					t.Errorf("%s of %s.%s is %v, want %v", extension, name, field, got.Extensions[extension], property.Extensions[extension])
				}
			}
			if !reflect.DeepEqual(got.Type, property.Type) {
				t.Errorf("the type of %s.%s is %v, want %v", name, field, got.Type, property.Type)
			}
		}
		checkReferences(t, name, pruned)
	}
	if fields < 40 {
		t.Errorf("only %d fields with a patch strategy were found", fields)
	}
}

// checkReferences fails if a definition refers to one that is not there: Kustomize would take it for a field that it does not know.
func checkReferences(t *testing.T, name string, all definitions) {
	t.Helper()
	for field, property := range all[name].Properties {
		for _, to := range []string{target(property), target(items(property)), target(values(property))} {
			if _, ok := all[to]; to != "" && !ok {
				t.Errorf("%s.%s refers to %s, which is not there", name, field, to)
			}
		}
	}
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: nginx, image: nginx}, {name: sidecar, image: busybox}]}}}
`

const deploymentPatch = `
patches:
  - patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [{name: nginx, tty: true}]}}}}'
`

// The component does not change how other kinds are patched.
func TestDeploymentIsPatchedAsBefore(t *testing.T) {
	expect(t, deployment, deploymentPatch, nil, map[string]string{
		"Deployment web: spec.template.spec.containers.0": "map[image:nginx name:nginx tty:true]",
		"Deployment web: spec.template.spec.containers.1": "map[image:busybox name:sidecar]",
	})
}

// A schema of the PodManager alone would be shorter, but with it Kustomize knows neither the built-in kinds nor the definitions that the PodManager
// refers to. If this test fails one day without the component, Kustomize merges both schemas, and openapi.yaml no longer needs the built-in kinds.
// With the component the result is the same, because the schema of the user's own kustomization takes precedence.
func TestSchemaReplacesTheBuiltIn(t *testing.T) {
	alone := definitions{objectMeta: {}, podTemplate: {}}
	if err := addPodManager(alone); err != nil {
		t.Fatal(err)
	}
	delete(alone, objectMeta)
	delete(alone, podTemplate)
	schema := bytes.NewBufferString("swagger: \"2.0\"\ninfo: {title: x, version: x}\npaths: {}\ndefinitions:\n")
	if err := alone.print(schema); err != nil {
		t.Fatal(err)
	}
	for _, component := range []bool{false, true} {
		built, err := build(files{
			"/app/objects.yaml":       deployment,
			"/app/kustomization.yaml": kustomization(component, deploymentPatch+"openapi: {path: alone.yaml}"),
			"/app/alone.yaml":         schema.String(),
		}, "/app")
		if err != nil {
			t.Fatal(err)
		}
		check(t, built, map[string]string{"Deployment web: spec.template.spec.containers": "[map[name:nginx tty:true]]"})
	}
}
