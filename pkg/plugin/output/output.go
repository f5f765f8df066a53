package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"
)

// Format is a value of -o.
type Format string

// Check returns an error if the value of -o is invalid.
func (f Format) Check() error {
	switch template, isPath := strings.CutPrefix(string(f), "jsonpath="); {
	case f == "" || f == "json" || f == "yaml" || f == "name":
		return nil
	case isPath:
		return jsonpath.New("output").Parse(template)
	default:
		return fmt.Errorf("-o %s is not known; use json, yaml, name or jsonpath=TEMPLATE", string(f))
	}
}

// Print prints a value. names are the lines that -o name prints.
func (f Format) Print(out io.Writer, value any, names ...string) error {
	if err := f.Check(); err != nil {
		return err
	}
	withoutManagedFields(value)
	switch template, isPath := strings.CutPrefix(string(f), "jsonpath="); {
	case f == "name":
		for _, name := range names {
			if _, err := fmt.Fprintln(out, name); err != nil {
				return err
			}
		}
		return nil
	case isPath:
		return printPath(out, template, value)
	case f == "yaml":
		data, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	default:
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "    ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
}

// printPath prints what a kubectl JSONPath template selects. As in kubectl, a missing field prints nothing.
func printPath(out io.Writer, template string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var decoded any
	if err := json.Unmarshal(data, &decoded); err != nil {
		return err
	}
	path := jsonpath.New("output").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return err
	}
	return path.Execute(out, decoded)
}

// withoutManagedFields drops the managed fields, as kubectl does.
func withoutManagedFields(value any) {
	object, isObject := value.(runtime.Object)
	if !isObject {
		return
	}
	if meta.IsListType(object) {
		_ = meta.EachListItem(object, func(item runtime.Object) error { // fails only if the function does
			withoutManagedFields(item)
			return nil
		})
		return
	}
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
}
