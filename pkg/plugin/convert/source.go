package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// source is an object that is being converted. Each field is removed from it once it is converted or reported.
type source struct {
	left  map[string]any
	notes []string
}

func newSource(object *unstructured.Unstructured) *source {
	return &source{left: object.DeepCopy().Object}
}

// take removes a field and returns its value. It returns nil if the field is missing or empty.
func (s *source) take(path ...string) any {
	parent := s.left
	for _, name := range path[:len(path)-1] {
		parent, _ = parent[name].(map[string]any)
	}
	name := path[len(path)-1]
	value := parent[name]
	delete(parent, name)
	if isEmpty(value) {
		return nil
	}
	return value
}

// text removes a string field and returns its value.
func (s *source) text(path ...string) string {
	text, _ := s.take(path...).(string)
	return text
}

// number removes an integer field and returns its value, or 0 if the field is missing.
func (s *source) number(path ...string) int64 {
	number, _ := s.take(path...).(int64)
	return number
}

// note adds a note for the user, on one line. Text from the object, such as the name of an unknown field, must not break out of the comment that
// the note becomes in a manifest or a script.
func (s *source) note(format string, args ...any) {
	s.notes = append(s.notes, text.OneLine(fmt.Sprintf(format, args...)))
}

// tell removes a field. If the field is set, it adds a note on why the field has no counterpart.
func (s *source) tell(why string, path ...string) {
	if value := s.take(path...); value != nil && value != false {
		s.note("%s: %s", strings.Join(path, "."), why)
	}
}

// tellRest adds a note for each field that is left over.
func (s *source) tellRest() {
	for _, path := range leavesOf(s.left, "") {
		s.note("%s: convert does not know this field, and leaves it out", path)
	}
	s.left = nil
}

// leavesOf returns the paths of all values in an object that are neither objects nor empty.
func leavesOf(object map[string]any, prefix string) []string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value := object[name]
		if inner, isObject := value.(map[string]any); isObject {
			paths = append(paths, leavesOf(inner, prefix+name+".")...)
		} else if !isEmpty(value) {
			paths = append(paths, prefix+name)
		}
	}
	return paths
}

// isEmpty reports whether a value is empty. Numbers and booleans are never empty, not even 0 and false.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(leavesOf(value, "")) == 0
	default:
		return false
	}
}
