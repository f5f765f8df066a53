package revisions

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/history"
)

// field is one field that differs between two templates.
type field struct {
	path     string
	from, to any
	// change sets this field, and no other, in a decoded template.
	change func(root any) any
}

// differing returns the fields that differ between two templates.
func differing(from, to *corev1.PodTemplateSpec) []field {
	var found []field
	compareValues("", decode(from), decode(to), func(change func(any) any) func(any) any { return change }, &found)
	return found
}

func decode(template *corev1.PodTemplateSpec) (value any) {
	_ = json.Unmarshal(history.Encode(template), &value) // cannot fail on the output of Encode
	return value
}

// lift turns a change of a part into a change of the whole template.
type lift func(change func(part any) any) func(root any) any

// compareValues finds the fields that differ below a path. A field that is missing on one side is nil.
func compareValues(path string, from, to any, up lift, found *[]field) {
	if reflect.DeepEqual(from, to) {
		return
	}
	fromMap, isMap := from.(map[string]any)
	toMap, areMaps := to.(map[string]any)
	// The labels or annotations may be missing entirely on one side.
	if isMap && areMaps || strings.HasPrefix(path, "metadata") && (isMap && to == nil || areMaps && from == nil) {
		compareMaps(path, fromMap, toMap, up, found)
		return
	}
	fromList, isList := from.([]any)
	toList, areLists := to.([]any)
	if isList && areLists && haveSameOrder(fromList, toList) {
		compareLists(path, fromList, toList, up, found)
		return
	}
	*found = append(*found, field{path: path, from: from, to: to, change: up(func(any) any { return to })})
}

func compareMaps(path string, from, to map[string]any, up lift, found *[]field) {
	all := map[string]any{}
	maps.Copy(all, from)
	maps.Copy(all, to)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		below := key
		if path != "" {
			below = path + "." + key
		}
		compareValues(below, from[key], to[key], func(change func(any) any) func(any) any {
			return up(func(part any) any {
				old, _ := part.(map[string]any)
				changed := map[string]any{}
				maps.Copy(changed, old)
				if changed[key] = change(changed[key]); changed[key] == nil {
					delete(changed, key)
				}
				return changed
			})
		}, found)
	}
}

// compareLists compares elements of the same name, or at the same position if they have no name.
func compareLists(path string, from, to []any, up lift, found *[]field) {
	keys := keysOf(from)
	for _, key := range keysOf(to) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		compareValues(path+"["+key+"]", elementOf(from, key), elementOf(to, key), func(change func(any) any) func(any) any {
			return up(func(part any) any {
				list := slices.Clone(part.([]any))
				place := slices.Index(keysOf(list), key)
				if place < 0 {
					return append(list, change(nil))
				}
				if list[place] = change(list[place]); list[place] == nil {
					return slices.Delete(list, place, place+1)
				}
				return list
			})
		}, found)
	}
}

// haveSameOrder reports whether two lists can be compared element by element, because their common elements are in the same order.
func haveSameOrder(from, to []any) bool {
	a, b := keysOf(from), keysOf(to)
	onlyIn := func(keys, others []string) []string {
		return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !slices.Contains(others, key) })
	}
	isNamed := func(list []any) bool { return len(list) == 0 || nameOf(list[0]) != "" }
	if !isNamed(from) || !isNamed(to) {
		return len(a) == len(b)
	}
	return slices.Equal(onlyIn(a, b), onlyIn(b, a))
}

// keysOf returns the names of a list's elements, or their positions if they have none.
func keysOf(list []any) []string {
	keys := make([]string, 0, len(list))
	for i, element := range list {
		key := nameOf(element)
		if key == "" || slices.Contains(keys, key) {
			key = strconv.Itoa(i)
		}
		keys = append(keys, key)
	}
	return keys
}

func elementOf(list []any, key string) any {
	if place := slices.Index(keysOf(list), key); place >= 0 {
		return list[place]
	}
	return nil
}

func nameOf(element any) string {
	object, _ := element.(map[string]any)
	name, _ := object["name"].(string)
	return name
}
