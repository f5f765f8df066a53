package bounds

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/json"
)

const (
	// QuantityLength is how many characters a quantity may have.
	QuantityLength = 64
	// ExponentDigits is how many digits the exponent of a quantity may have.
	ExponentDigits = 2
	// maxDepth is how deep values may be nested. No pod template gets near it.
	maxDepth = 100
	// maxHeap is how much memory the structs, lists and maps of one object may take. That of a template with 100 containers of 100
	// environment variables each is a quarter.
	maxHeap = 4 << 20
	// heapPerByte and smallHeap bound the same by the size of the JSON: a small object may take smallHeap in any case.
	heapPerByte = 32
	smallHeap   = 64 << 10
)

// Unmarshal decodes JSON as the API server does, if it is worth its price. Field names are case-sensitive.
func Unmarshal(data []byte, into any) error {
	if err := Check(data, into); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Check says what makes JSON too expensive to be decoded into a value of this type.
func Check(data []byte, into any) error {
	s := &scanner{data: data, budget: min(maxHeap, smallHeap+heapPerByte*len(data))}
	err := s.value(reflect.TypeOf(into), 0)
	if err == nil && s.next() != 0 {
		err = s.malformed()
	}
	return err
}

// tooMuch is what is wrong with a value, and where that is.
type tooMuch struct{ path, what string }

func (t *tooMuch) Error() string {
	if t.path == "" {
		return t.what
	}
	return t.path + ": " + t.what
}

// within adds the name of the field, or the index of the element, in which an error was found.
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
