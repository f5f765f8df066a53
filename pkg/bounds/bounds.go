package bounds

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/json"
)

const (
	// QuantityLength is the maximum number of characters of a quantity.
	QuantityLength = 64
	// ExponentDigits is the maximum number of digits in the exponent of a quantity.
	ExponentDigits = 2
	// maxDepth is the maximum nesting depth. No pod template comes close to it.
	maxDepth = 100
	// maxHeap is how much memory the structs, lists and maps of one object may take. A template with 100 containers of 100 environment
	// variables each takes a quarter of it.
	maxHeap = 4 << 20
	// heapPerByte and smallHeap limit the same memory by the size of the JSON. Every object may take smallHeap, however small it is.
	heapPerByte = 32
	smallHeap   = 64 << 10
)

// Unmarshal decodes JSON as the API server does, unless decoding would take too much memory or time. Field names are case-sensitive.
func Unmarshal(data []byte, into any) error {
	if err := Check(data, into); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Check returns an error if JSON is too expensive to decode into a value of the type of into, or cannot be scanned.
func Check(data []byte, into any) error {
	s := &scanner{data: data, budget: min(maxHeap, smallHeap+heapPerByte*len(data))}
	err := s.value(reflect.TypeOf(into), 0)
	if err == nil && s.next() != 0 {
		err = s.malformed()
	}
	return err
}

// tooMuch is an error about a value, with the path of the value.
type tooMuch struct{ path, what string }

func (t *tooMuch) Error() string {
	if t.path == "" {
		return t.what
	}
	return t.path + ": " + t.what
}

// within prepends the name of the field, or the index of the element, in which an error was found.
func within(err error, format string, name any) error {
	var found *tooMuch
	if !errors.As(err, &found) {
		return err
	}
	step := fmt.Sprintf(format, name)
	switch {
	case found.path == "":
		found.path = step
	case found.path[0] == '[':
		found.path = step + found.path
	default:
		found.path = step + "." + found.path
	}
	return found
}
