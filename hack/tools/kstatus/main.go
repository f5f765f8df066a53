// Command kstatus reads Kubernetes objects as JSON on stdin, one after the other or in a List, and prints a line of JSON for
// each: the status that Helm and Flux see. Both wait with the library kstatus.
//
//	kubectl get pm -o json | "$(hack/tool.sh kstatus)"
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// verdict is a line of the output.
type verdict struct {
	Name    string        `json:"name"`
	Status  status.Status `json:"status"`
	Message string        `json:"message"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "kstatus:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var data json.RawMessage
		if err := decoder.Decode(&data); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		// Not json.Unmarshal: kstatus wants whole numbers as int64.
		object, err := runtime.Decode(unstructured.UnstructuredJSONScheme, data)
		if err != nil {
			return err
		}
		objects := []unstructured.Unstructured{}
		switch object := object.(type) {
		case *unstructured.Unstructured:
			objects = append(objects, *object)
		case *unstructured.UnstructuredList:
			objects = object.Items
		}
		for _, object := range objects {
			if err := judge(&object, encoder); err != nil {
				return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
			}
		}
	}
}

func judge(object *unstructured.Unstructured, out *json.Encoder) error {
	result, err := status.Compute(object)
	if err != nil {
		return err
	}
	return out.Encode(verdict{Name: object.GetName(), Status: result.Status, Message: result.Message})
}
