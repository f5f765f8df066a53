package fields

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Trial is a value for a field of the spec.
type Trial struct {
	// path is the path of the field below spec; value is nil for a missing field.
	path  []string
	value any
	// Refused means that the API server must refuse the value with a message that contains word, or the field's name if word is empty.
	Refused bool
	word    string
	// Held are the reasons for which a PodManager with this value is not Ready. If there are none, it has to become Ready.
	Held []string
}

// Trials returns valid and invalid values for the fields of a spec with this schema, always in the same order.
func Trials(schema map[string]any) []Trial {
	return append(trialsOf(schema), templateTrials()...)
}

// String returns the field and the value. heldBy and contradictions identify a trial by it.
func (t Trial) String() string {
	return fmt.Sprintf("spec.%s=%s", strings.Join(t.path, "."), asJSON(t.value))
}

// IsGreedy reports whether the value requests more pods than there can be.
func (t Trial) IsGreedy() bool { return slices.Contains(t.Held, v1.ReasonForbidden) }

// IsShort reports whether the field is the short form of a template.
func (t Trial) IsShort() bool { return t.path[0] == "image" }

// Word returns the text that the message of a refusal must contain.
func (t Trial) Word() string {
	if t.word != "" {
		return t.word
	}
	return t.path[len(t.path)-1]
}

// Patch returns a JSON merge patch with the value and a new image, so that there is a rollout at the same time.
func (t Trial) Patch(image string) string {
	spec := map[string]any{}
	if !t.IsShort() {
		put(spec, []string{"template", "spec", "containers"}, []any{map[string]any{"name": "app", "image": image}})
	}
	put(spec, t.path, t.value)
	return asJSON(map[string]any{"spec": spec})
}

// put sets the value at a path, and creates the objects on the way.
func put(object map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		inner, found := object[name].(map[string]any)
		if !found {
			inner = map[string]any{}
			object[name] = inner
		}
		object = inner
	}
	object[path[len(path)-1]] = value
}

func asJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // cannot happen: plain values only
	}
	return string(data)
}
