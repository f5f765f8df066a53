package bounds

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

// scanner scans JSON once, along with the Go type that it would be decoded into. For a value within bounds it allocates nothing, except for
// field names with escapes.
type scanner struct {
	data []byte
	at   int
	// budget is how much more memory the object may take.
	budget int
}

var (
	quantityType    = reflect.TypeFor[resource.Quantity]()
	unmarshalerType = reflect.TypeFor[stdjson.Unmarshaler]()
)

// mapEntry is what a map entry takes in addition to its key and value.
const mapEntry = 16

// value scans a value. If t is nil, the value is not decoded, and only its depth is limited.
func (s *scanner) value(t reflect.Type, depth int) error {
	if depth > maxDepth {
		return &tooMuch{what: fmt.Sprintf("nested more than %d deep", maxDepth)}
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
		if err := s.spend(int(t.Size())); err != nil {
			return err
		}
	}
	if t == quantityType {
		return s.quantity(depth)
	}
	known := shapeOf(t)
	if known.decodesItself {
		t = nil
	}
	switch s.next() {
	case '{':
		return s.object(t, known.fields, depth)
	case '[':
		return s.array(t, depth)
	case '"':
		_, err := s.text()
		return err
	default:
		return s.literal()
	}
}

// object scans the fields of a struct, or the entries of a map.
func (s *scanner) object(t reflect.Type, fields map[string]reflect.Type, depth int) error {
	s.at++
	for first := true; s.next() != '}'; first = false {
		if !first && !s.skip(',') {
			return s.malformed()
		}
		name, err := s.name()
		if err != nil {
			return err
		}
		var inner reflect.Type
		switch {
		case fields != nil:
			inner = fields[string(name)]
		case t != nil && t.Kind() == reflect.Map:
			inner = t.Elem()
			err = s.spend(int(t.Key().Size()+inner.Size()) + mapEntry)
		}
		if err == nil {
			err = s.value(inner, depth+1)
		}
		if err != nil {
			return within(err, "%.100s", name)
		}
	}
	s.at++
	return nil
}

// array scans the elements of a list. A growing list is copied, so each element counts twice.
func (s *scanner) array(t reflect.Type, depth int) error {
	s.at++
	var inner reflect.Type
	size := 0
	if t != nil && t.Kind() == reflect.Slice {
		inner = t.Elem()
		size = 2 * int(inner.Size())
	}
	for i := 0; s.next() != ']'; i++ {
		if i > 0 && !s.skip(',') {
			return s.malformed()
		}
		err := s.spend(size)
		if err == nil {
			err = s.value(inner, depth+1)
		}
		if err != nil {
			return within(err, "[%d]", i)
		}
	}
	s.at++
	return nil
}

// quantity scans a quantity, which may be a string or a number.
func (s *scanner) quantity(depth int) error {
	s.next()
	begin := s.at
	if err := s.value(nil, depth); err != nil {
		return err
	}
	text := s.data[begin:s.at] // with its quotes
	if len(text) > QuantityLength+len(`""`) {
		return &tooMuch{what: fmt.Sprintf("a quantity of more than %d characters", QuantityLength)}
	}
	if e := bytes.IndexAny(text, "eE"); e >= 0 {
		if exponent := bytes.Trim(text[e+1:], `+-"`); len(exponent) > ExponentDigits {
			return &tooMuch{what: fmt.Sprintf("a quantity whose exponent has more than %d digits", ExponentDigits)}
		}
	}
	return nil
}

func (s *scanner) spend(bytes int) error {
	if s.budget -= bytes; s.budget < 0 {
		return &tooMuch{what: "decoding the object up to here would take too much memory"}
	}
	return nil
}

// next returns the next character that is not a space, without consuming it. It returns 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// skip consumes the next character if it is c, and reports whether it was.
func (s *scanner) skip(c byte) bool {
	if s.next() != c {
		return false
	}
	s.at++
	return true
}

// text consumes a string, and returns the bytes between its quotes, as written.
func (s *scanner) text() ([]byte, error) {
	s.at++
	for begin := s.at; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return s.data[begin : s.at-1], nil
		}
	}
	return nil, s.malformed()
}

// name consumes the name of a field and the colon after it.
func (s *scanner) name() ([]byte, error) {
	if s.next() != '"' {
		return nil, s.malformed()
	}
	begin := s.at
	name, err := s.text()
	if err == nil && bytes.IndexByte(name, '\\') >= 0 {
		var plain string
		err = stdjson.Unmarshal(s.data[begin:s.at], &plain)
		name = []byte(plain)
	}
	if err != nil || !s.skip(':') {
		return nil, s.malformed()
	}
	return name, nil
}

// literal consumes a number, true, false or null.
func (s *scanner) literal() error {
	begin := s.at
	for s.at < len(s.data) && strings.IndexByte(",]} \t\r\n", s.data[s.at]) < 0 {
		s.at++
	}
	if s.at == begin {
		return s.malformed()
	}
	return nil
}

func (s *scanner) malformed() error {
	return &tooMuch{what: fmt.Sprintf("malformed JSON at byte %d", s.at)}
}

// shape is what the scanner needs to know about a type.
type shape struct {
	// fields has the types of a struct's fields by their JSON names. It is nil for other types.
	fields map[string]reflect.Type
	// decodesItself is true for a time, an IntOrString, or raw bytes.
	decodesItself bool
}

var (
	// shapes caches the shape of each type.
	shapes sync.Map // map[reflect.Type]*shape
	// unknown is the shape of a value that is not decoded.
	unknown = &shape{}
)

func shapeOf(t reflect.Type) *shape {
	if t == nil {
		return unknown
	}
	if found, ok := shapes.Load(t); ok {
		return found.(*shape)
	}
	found := &shape{decodesItself: reflect.PointerTo(t).Implements(unmarshalerType)}
	if t.Kind() == reflect.Struct && !found.decodesItself {
		found.fields = fieldsOf(t)
	}
	shapes.Store(t, found)
	return found
}

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous:
			for name, inner := range fieldsOf(field.Type) {
				fields[name] = inner
			}
		case name == "":
			fields[field.Name] = field.Type
		default:
			fields[name] = field.Type
		}
	}
	return fields
}
