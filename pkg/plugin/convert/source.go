package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// source is an object that is being converted. Each field is taken out of it when it is converted or told.
type source struct {
	left  map[string]any
	notes []string
}

func newSource(object *unstructured.Unstructured) *source {
	return &source{left: object.DeepCopy().Object}
}

// take takes a field out; nil if it is not there, or is empty.
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

// text takes out a field that is a text.
func (s *source) text(path ...string) string {
	text, _ := s.take(path...).(string)
	return text
}

// number takes out a field that is a whole number; 0 if it is not there.
func (s *source) number(path ...string) int64 {
	number, _ := s.take(path...).(int64)
	return number
}

// note adds something that the user should know, in one line: what the object has, such as the name of an unknown field, must not get out
// of the comment that the note becomes in a manifest or a script.
func (s *source) note(format string, args ...any) {
	s.notes = append(s.notes, text.OneLine(fmt.Sprintf(format, args...)))
}

// tell takes a field out and says why it has no counterpart, if it is there.
func (s *source) tell(why string, path ...string) {
	if value := s.take(path...); value != nil && value != false {
		s.note("%s: %s", strings.Join(path, "."), why)
	}
}

// tellRest tells which fields nobody has taken.
func (s *source) tellRest() {
	for _, path := range leavesOf(s.left, "") {
		s.note("%s: is not known here, and left out", path)
	}
	s.left = nil
}

// leavesOf are the paths of all values in an object that are no objects themselves, and not empty.
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

// isEmpty tells whether a value says nothing. A number says something, even 0, and so does false.
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
