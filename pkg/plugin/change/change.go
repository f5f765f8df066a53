package change

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// FieldManager is the plugin's name in managedFields.
const FieldManager = "kubectl-podmanager"

// Change is what a verb writes. It has no operations if there is nothing to change.
type Change struct {
	// Said describes the change. It follows the name of the PodManager: "web restarted".
	Said string
	ops  []operation
}

// operation is one operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// IsEmpty reports whether there is nothing to write.
func (c Change) IsEmpty() bool { return len(c.ops) == 0 }

// Fields returns the spec fields that the change writes, such as "spec.image".
func (c Change) Fields() []string {
	var fields []string
	for _, op := range c.ops {
		field := strings.ReplaceAll(strings.TrimPrefix(op.Path, "/"), "/", ".")
		if strings.HasPrefix(field, "spec.") {
			fields = append(fields, field)
		}
	}
	return fields
}

// Patch returns the JSON patch for the PodManager that the change was made for. The patch tests the UID and the generation, so that the API server
// refuses it if the spec has changed in the meantime. A write of the status does not change the generation.
func (c Change) Patch(manager *v1.PodManager) ([]byte, error) {
	tests := []operation{
		{Op: "test", Path: "/metadata/uid", Value: manager.UID},
		{Op: "test", Path: "/metadata/generation", Value: manager.Generation},
	}
	return json.Marshal(slices.Concat(tests, c.ops))
}

// Applied returns a copy of the PodManager with the change, without the API server's checks and defaults. The change must have been made for this
// PodManager.
func (c Change) Applied(manager *v1.PodManager) (*v1.PodManager, error) {
	before, err := json.Marshal(manager)
	if err != nil {
		return nil, err
	}
	data, err := c.Patch(manager)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, err
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, err
	}
	changed := &v1.PodManager{}
	return changed, json.Unmarshal(after, changed)
}

// set sets a field, whether or not it exists. Its parent must exist.
func (c *Change) set(value any, path ...string) {
	c.ops = append(c.ops, operation{Op: "add", Path: pointer(path), Value: value})
}

func (c *Change) remove(path ...string) {
	c.ops = append(c.ops, operation{Op: "remove", Path: pointer(path)})
}

// pointer returns a JSON pointer.
func pointer(path []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	text := ""
	for _, part := range path {
		text += "/" + escape.Replace(part)
	}
	return text
}

// setCause sets the change cause of the revision that results from the change. If cause is empty, it removes the present change cause.
func (c *Change) setCause(manager *v1.PodManager, cause string) {
	present, found := manager.Annotations[v1.AnnotationChangeCause]
	switch {
	case cause == "" && found:
		c.remove("metadata", "annotations", v1.AnnotationChangeCause)
	case cause == "" || cause == present:
	case len(manager.Annotations) == 0:
		c.set(map[string]string{v1.AnnotationChangeCause: cause}, "metadata", "annotations")
	default:
		c.set(cause, "metadata", "annotations", v1.AnnotationChangeCause)
	}
}

// Because returns the change with a change cause for the resulting revision. If cause is empty, the change stays as it is.
func (c Change) Because(manager *v1.PodManager, cause string) Change {
	if cause != "" && !c.IsEmpty() {
		c.ops = slices.Clone(c.ops)
		c.setCause(manager, cause)
	}
	return c
}

func nothing(format string, args ...any) (Change, error) {
	return Change{Said: fmt.Sprintf(format, args...)}, nil
}
