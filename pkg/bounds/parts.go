package bounds

import (
	"iter"
	"strings"
)

// Field is a field of a JSON object. It refers to the bytes of the object, except for a Name with escapes, which is a copy.
type Field struct {
	// Name is without quotes and escapes, Value is as written.
	Name, Value []byte
	// Text is name and value as written, with the colon.
	Text []byte
}

// Fields iterates over the fields of an object, in order. It stops where the JSON is malformed or nested too deep, which Unmarshal and Check
// reject. It allocates no memory, except for names with escapes.
func Fields(object []byte) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		s := &scanner{data: object}
		if !s.skip('{') {
			return
		}
		for first := true; s.next() != '}'; first = false {
			if !first && !s.skip(',') {
				return
			}
			s.next()
			text := s.at
			name, err := s.name()
			if err != nil {
				return
			}
			value, err := s.raw()
			if err != nil || !yield(Field{Name: name, Value: value, Text: s.data[text:s.at]}) {
				return
			}
		}
	}
}

// Elements iterates over the elements of a list, as Fields does over the fields of an object.
func Elements(list []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		s := &scanner{data: list}
		if !s.skip('[') {
			return
		}
		for first := true; s.next() != ']'; first = false {
			if !first && !s.skip(',') {
				return
			}
			if value, err := s.raw(); err != nil || !yield(value) {
				return
			}
		}
	}
}

// raw consumes a value, and returns it as written.
func (s *scanner) raw() ([]byte, error) {
	s.next()
	begin := s.at
	err := s.value(nil, 0)
	return s.data[begin:s.at], err
}

// maxText is how many bytes of another client's text are shown.
const maxText = 200

// Short returns the beginning of a text from another client, for a log or a response.
func Short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "..."
}
