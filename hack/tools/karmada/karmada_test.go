package karmada

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// toJSON returns a value in JSON, in which maps are sorted.
func toJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if toJSON(t, got) != toJSON(t, want) {
		t.Errorf("got\n%s\nwant\n%s", toJSON(t, got), toJSON(t, want))
	}
}

func TestTarget(t *testing.T) {
	found := readCustomization(t)
	if found.APIVersion != "config.karmada.io/v1alpha1" || found.Kind != "ResourceInterpreterCustomization" || found.Metadata.Name == "" {
		t.Errorf("the customization is %s %s %q", found.APIVersion, found.Kind, found.Metadata.Name)
	}
	web := state(t, "ready")
	if target := found.Spec.Target; target.APIVersion != web["apiVersion"] || target.Kind != web["kind"] {
		t.Errorf("the target is %+v", target)
	}
}

func TestReplicas(t *testing.T) {
	script := readCustomization(t).Spec.Customizations.ReplicaResource
	withoutReplicas := state(t, "ready")
	delete(withoutReplicas["spec"].(object), "replicas")
	for name, test := range map[string]struct {
		web          object
		replicas     float64
		requirements any
	}{
		"short form": {state(t, "ready"), 2, nil},
		"default":    {withoutReplicas, 3, nil},
		"zero":       {state(t, "zero-replicas"), 0, nil},
		"template": {state(t, "with-a-template"), 2, object{
			"nodeClaim": object{"nodeSelector": object{"disk": "ssd"}}, "resourceRequest": object{"cpu": "300m", "memory": "64Mi"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, call(t, script, "GetReplicas", 2, test.web), []any{test.replicas, test.requirements})
		})
	}
}

// A revision changes replicas and nothing else.
func TestReviseReplica(t *testing.T) {
	script := readCustomization(t).Spec.Customizations.ReplicaRevision
	for _, name := range allStates(t) {
		t.Run(name, func(t *testing.T) {
			web, want := state(t, name), state(t, name)
			want["spec"].(object)["replicas"] = 7
			equal(t, restored(call(t, script, "ReviseReplica", 1, web, 7)[0], web), want)
		})
	}
}

// The member cluster's replicas stay only if the label says so.
func TestRetain(t *testing.T) {
	script := readCustomization(t).Spec.Customizations.Retention
	for name, test := range map[string]struct {
		labels   object
		replicas int
	}{
		"no label": {nil, 2}, "other labels": {object{"app": "web"}, 2}, "false": {object{"resourcetemplate.karmada.io/retain-replicas": "false"}, 2},
		"true": {object{"resourcetemplate.karmada.io/retain-replicas": "true"}, 9},
	} {
		t.Run(name, func(t *testing.T) {
			desired, observed, want := state(t, "with-a-template"), state(t, "with-a-template"), state(t, "with-a-template")
			observed["spec"].(object)["replicas"], observed["spec"].(object)["paused"] = 9, true
			want["spec"].(object)["replicas"] = test.replicas
			if test.labels != nil {
				desired["metadata"].(object)["labels"], want["metadata"].(object)["labels"] = test.labels, test.labels
			}
			equal(t, restored(call(t, script, "Retain", 1, desired, observed)[0], desired), want)
		})
	}
}

func TestDependencies(t *testing.T) {
	script := readCustomization(t).Spec.Customizations.DependencyInterpretation
	for name, want := range map[string][]string{
		"ready":           {},
		"scaling":         {}, // a template that refers to nothing
		"with-a-template": {"ConfigMap settings", "PersistentVolumeClaim data", "Secret registry", "ServiceAccount shop"},
	} {
		t.Run(name, func(t *testing.T) {
			got := []string{}
			for _, found := range call(t, script, "GetDependencies", 1, state(t, name))[0].([]any) {
				reference := found.(object)
				if reference["apiVersion"] != "v1" || reference["namespace"] != "default" {
					t.Errorf("got %v", reference)
				}
				got = append(got, reference["kind"].(string)+" "+reference["name"].(string))
			}
			slices.Sort(got)
			equal(t, got, want)
		})
	}
}

// A cluster is healthy while enough pods serve, even if the rollout has halted or was rolled back.
func TestHealth(t *testing.T) {
	script := readCustomization(t).Spec.Customizations.HealthInterpretation
	healthy := map[string]bool{
		"not-seen-by-a-controller": false, "ready": true, "creating": false, "scaling": false, "rolling": true, "paused-with-a-change-waiting": true,
		"halted-a-moment-ago": true, "one-pod-crash-looping-outside-a-rollout": false, "partition-reached": true,
		"outdated-pods-to-be-deleted-by-somebody": true, "zero-replicas": true, "updated": true, "halted": true, "rolled-back": true,
		"deadline-exceeded": true, "in-place-impossible": true, "quota-refused": false, "invalid-pod": false, "deleting": false,
		"edited-since": false, "baking": true, "paused-and-up-to-date": true, "paused-from-the-start": false, "misconfigured": true,
		"undecodable": false, "with-a-template": true,
	}
	if tested := slices.Sorted(maps.Keys(healthy)); !slices.Equal(tested, allStates(t)) {
		t.Errorf("tested are %q, the states are %q", tested, allStates(t))
	}
	for name, want := range healthy {
		t.Run(name, func(t *testing.T) {
			equal(t, call(t, script, "InterpretHealth", 1, state(t, name)), []any{want})
		})
	}
	withoutStatus := state(t, "ready")
	delete(withoutStatus, "status")
	equal(t, call(t, script, "InterpretHealth", 1, withoutStatus), []any{false})
}

// inMember returns a state as it is in a member cluster of Karmada, which notes the generation of the resource template.
func inMember(t *testing.T, name string) object {
	t.Helper()
	web := state(t, name)
	web["metadata"].(object)["annotations"] = object{"resourcetemplate.karmada.io/generation": "5"}
	return web
}

// reflected returns the status that Karmada takes from a member cluster.
func reflected(t *testing.T, web object) object {
	t.Helper()
	found := call(t, readCustomization(t).Spec.Customizations.StatusReflection, "ReflectStatus", 1, web)[0]
	if status, isObject := found.(object); isObject {
		return status
	}
	return object{} // Karmada takes an empty list for an empty object
}

// Karmada gets the whole status except for fields that mean nothing outside of the member cluster.
func TestReflectStatus(t *testing.T) {
	for _, name := range allStates(t) {
		t.Run(name, func(t *testing.T) {
			want := state(t, name)["status"].(object)
			delete(want, "podNames")
			delete(want, "rollout")
			want["generation"], want["resourceTemplateGeneration"] = state(t, name)["metadata"].(object)["generation"], 5
			equal(t, reflected(t, inMember(t, name)), want)
		})
	}
	bare := state(t, "ready")
	delete(bare["metadata"].(object), "annotations")
	if got := toJSON(t, reflected(t, bare)); strings.Contains(got, "resourceTemplateGeneration") {
		t.Errorf("without the annotation: %s", got)
	}
	delete(bare, "status")
	equal(t, reflected(t, bare), object{})
}
