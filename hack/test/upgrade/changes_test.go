package upgrade

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// mayChange lists what a replacement of the CRD and the controller, up or down, may change in a stored object. For each field it describes what is
// lost. A field includes everything below it. A change of the API that needs an entry here needs the same sentence in its release notes.
//
// For example, a new field of the status needs an entry: an upgrade adds it, and a downgrade loses it.
var mayChange = map[string]string{
	"PodManager.spec.failurePolicy.maxFailedPods":       "it is failureThreshold now: a value that was set under the old name is lost, and the default of 1 applies",
	"PodManager.spec.failurePolicy.failureThreshold":    "a downgrade loses it, and maxFailedPods is 1 then",
	"PodManager.spec.failurePolicy.bakeSeconds":         "a downgrade loses it, and gracePeriodSeconds is the bake time then",
	"PodManager.status.rollout.bakingSince":             "the bake time of a rollout under way begins anew with an upgrade, and with a downgrade counts from when the pods became ready",
	"PodManager.status.conditions[Ready].message":       "it names the end of the bake time, which is later if the bake time begins anew",
	"PodManager.status.conditions[Progressing].message": "a rollout that is over is told in other words: all wanted pods are available",
	"PodManager.status.rollout.judgedBy":                "an upgrade adds it to a rollout with failing pods; with a downgrade, a change of the failure policy does not end a halt",
	"PodManager.status.rollout.minReadySeconds":         "an upgrade adds it, and the progress deadline of a rollout under way begins anew",
	"ControllerRevision.metadata.annotations":           "the good revision gets good-since; a downgrade leaves it there, and goes by the status",

	"Pod.metadata.annotations.cluster-autoscaler.kubernetes.io/safe-to-evict": "an upgrade adds it, so that Cluster Autoscaler may remove the pod's node; a downgrade leaves it there",
}

// changes returns the differences between two versions of an object, except for those that the table allows and those that every write causes.
func changes(before, after map[string]any, allowed map[string]string) []string {
	var found []string
	compare(fmt.Sprint(before["kind"]), before, after, func(path string, was, is any) {
		if !isBookkeeping(path) && !covers(allowed, path) {
			found = append(found, fmt.Sprintf("%s was %s and is %s", path, inWords(was), inWords(is)))
		}
	})
	return found
}

// isBookkeeping reports whether the API server changes a field with every write.
func isBookkeeping(path string) bool {
	_, field, _ := strings.Cut(path, ".")
	return field == "metadata.resourceVersion" || strings.HasPrefix(field, "metadata.managedFields")
}

// covers reports whether the table has the path, or a field above it.
func covers(table map[string]string, path string) bool {
	for field := range table {
		if rest, ok := strings.CutPrefix(path, field); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

func inWords(value any) string {
	if value == nil {
		return "absent"
	}
	return fmt.Sprintf("%#v", value)
}

// compare visits every value that differs, with its path. A missing value is nil.
func compare(path string, was, is any, differs func(path string, was, is any)) {
	oldFields, newFields := fields(was), fields(is)
	if was == nil && strings.HasSuffix(path, ".annotations") {
		oldFields = map[string]any{}
	}
	if oldFields == nil || newFields == nil {
		if !reflect.DeepEqual(was, is) {
			differs(path, was, is)
		}
		return
	}
	all := maps.Clone(oldFields)
	maps.Copy(all, newFields)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		compare(path+name, oldFields[name], newFields[name], differs)
	}
}

// fields returns the values of a map or of a list by the last element of their path; nil for any other value. The items of a list are identified by
// their keys, so that a lost item does not make all others differ.
func fields(value any) map[string]any {
	found := map[string]any{}
	switch value := value.(type) {
	case map[string]any:
		for name, each := range value {
			found["."+name] = each
		}
	case []any:
		for i, each := range value {
			found["["+itemName(i, each)+"]"] = each
		}
	default:
		return nil
	}
	return found
}

// itemName returns the type, UID or name of a list item, or else its index.
func itemName(index int, item any) string {
	if item, ok := item.(map[string]any); ok {
		for _, key := range []string{"type", "uid", "name"} {
			if name, ok := item[key].(string); ok {
				return name
			}
		}
	}
	return fmt.Sprint(index)
}

func TestChanges(t *testing.T) {
	type object = map[string]any
	manager := func(edit func(metadata, spec, status object)) object {
		metadata := object{"name": "web", "resourceVersion": "1", "finalizers": []any{"apps.mycompany.com/podmanager"}}
		spec := object{"replicas": int64(2), "failurePolicy": object{"onFailure": "Halt"}}
		status := object{"failedRevision": "web-1", "conditions": []any{
			object{"type": "Ready", "reason": "RolledBack"}, object{"type": "Stalled", "reason": "RolledBack"},
		}}
		edit(metadata, spec, status)
		return object{"kind": "PodManager", "metadata": metadata, "spec": spec, "status": status}
	}
	for name, test := range map[string]struct {
		edit    func(metadata, spec, status object)
		allowed map[string]string
		want    []string
	}{
		"nothing": {edit: func(_, _, _ object) {}},
		"another write": {edit: func(metadata, _, _ object) {
			metadata["resourceVersion"], metadata["managedFields"] = "2", []any{}
		}},
		"a verdict is lost": {
			edit: func(_, _, status object) { delete(status, "failedRevision") },
			want: []string{`PodManager.status.failedRevision was "web-1" and is absent`},
		},
		"a condition is lost": {
			edit: func(_, _, status object) { status["conditions"] = status["conditions"].([]any)[1:] },
			want: []string{`PodManager.status.conditions[Ready] was map[string]interface {}{"reason":"RolledBack", "type":"Ready"} and is absent`},
		},
		"a reason is another": {
			edit: func(_, _, status object) { status["conditions"].([]any)[0].(object)["reason"] = "Undecodable" },
			want: []string{`PodManager.status.conditions[Ready].reason was "RolledBack" and is "Undecodable"`},
		},
		"a verdict comes": {
			edit: func(_, _, status object) { status["rollout"] = "web-2" },
			want: []string{`PodManager.status.rollout was absent and is "web-2"`},
		},
		"a field of the spec is pruned": {
			edit: func(_, spec, _ object) { delete(spec["failurePolicy"].(object), "onFailure") },
			want: []string{`PodManager.spec.failurePolicy.onFailure was "Halt" and is absent`},
		},
		"a whole struct is pruned": {
			edit: func(_, spec, _ object) { delete(spec, "failurePolicy") },
			want: []string{`PodManager.spec.failurePolicy was map[string]interface {}{"onFailure":"Halt"} and is absent`},
		},
		"a finalizer is lost": {
			edit: func(metadata, _, _ object) { metadata["finalizers"] = []any{} },
			want: []string{`PodManager.metadata.finalizers[0] was "apps.mycompany.com/podmanager" and is absent`},
		},
		"what the table allows": {
			edit:    func(_, _, status object) { delete(status, "failedRevision") },
			allowed: map[string]string{"PodManager.status.failedRevision": "a downgrade forgets it"},
		},
		"below what the table allows": {
			edit:    func(_, spec, _ object) { delete(spec["failurePolicy"].(object), "onFailure") },
			allowed: map[string]string{"PodManager.spec.failurePolicy": "a downgrade forgets it"},
		},
		"beside what the table allows": {
			edit:    func(_, spec, _ object) { delete(spec, "failurePolicy") },
			allowed: map[string]string{"PodManager.spec.failure": "", "Pod.spec.failurePolicy": "", "PodManager.spec.failurePolicy.onFailure": ""},
			want:    []string{`PodManager.spec.failurePolicy was map[string]interface {}{"onFailure":"Halt"} and is absent`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := manager(func(_, _, _ object) {})
			if got := changes(before, manager(test.edit), test.allowed); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
