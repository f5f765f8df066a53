package bounds

import (
	"iter"
	"strings"
)

// Field is a field of a JSON object. All of it is a part of the object, and not a copy.
type Field struct {
	// Name is without quotes and escapes, Value as it is written.
	Name, Value []byte
	// Text is both as they are written, with the colon.
	Text []byte
}

// Fields are the fields of an object, in their order. They end where the JSON is malformed or nested too deep, which Unmarshal and Check
// refuse. Going through them takes no memory, however many there are.
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

// Elements are the elements of a list, in the same way.
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

// raw takes a value as it is written.
func (s *scanner) raw() ([]byte, error) {
	s.next()
	begin := s.at
	err := s.value(nil, 0)
	return s.data[begin:s.at], err
}

// maxText is how many bytes of a text from others are shown.
const maxText = 200

// Short is the beginning of a text that others have written, for a log or an answer.
func Short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "..."
}
