package conversion

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mycompany/podmanager/pkg/bounds"
)

// value is JSON to be written. An object of several megabytes is copied once, from the request to the response, and never exists in memory as a
// tree, which would take dozens of times its size.
type value interface {
	writeTo(*bufio.Writer)
}

// raw is a part of the request. It is nil if the part is missing.
type raw []byte

func (r raw) writeTo(w *bufio.Writer) { _, _ = w.Write(r) }

func (r raw) isObject() bool { return len(r) > 0 && r[0] == '{' }

// text returns the value of a string. It is empty if r is not a string.
func (r raw) text() string {
	var text string
	_ = json.Unmarshal(r, &text)
	return text
}

// pick returns the named fields that an object has. It returns none if r is not an object.
func (r raw) pick(names ...string) map[string]raw {
	picked := map[string]raw{}
	for field := range bounds.Fields(r) {
		for _, name := range names {
			if string(field.Name) == name {
				picked[name] = field.Value
			}
		}
	}
	return picked
}

// edited is an object with some fields replaced. A field whose value is nil is omitted.
type edited struct {
	from   raw
	fields map[string]value
}

func (e edited) writeTo(w *bufio.Writer) {
	separator := "{"
	for field := range bounds.Fields(e.from) {
		if _, isEdited := e.fields[string(field.Name)]; !isEdited {
			_, _ = w.WriteString(separator)
			_, _ = w.Write(field.Text)
			separator = ","
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.fields)) {
		if value := e.fields[name]; value != nil {
			_, _ = w.WriteString(separator + `"` + name + `":`)
			value.writeTo(w)
			separator = ","
		}
	}
	if separator == "{" {
		_, _ = w.WriteString(separator)
	}
	_ = w.WriteByte('}')
}

// withFirst is a list with its first element replaced, or with that element alone.
type withFirst struct {
	first value
	from  raw
}

func (l withFirst) writeTo(w *bufio.Writer) {
	_ = w.WriteByte('[')
	l.first.writeTo(w)
	isFirst := true
	for element := range bounds.Elements(l.from) {
		if !isFirst {
			_ = w.WriteByte(',')
			_, _ = w.Write(element)
		}
		isFirst = false
	}
	_ = w.WriteByte(']')
}

// quoted is JSON in a string. It is compact, and contains < > & unescaped although API servers send them escaped, because people may read it.
type quoted raw

// inString quotes JSON. A pair of backslashes must match first. Otherwise its second backslash could be mistaken for the start of an escape.
var inString = strings.NewReplacer(`\\`, `\\\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\`, `\\`, `"`, `\"`)

func (q quoted) writeTo(w *bufio.Writer) {
	var compact bytes.Buffer
	_ = json.Compact(&compact, q) // it is valid JSON
	_ = w.WriteByte('"')
	_, _ = inString.WriteString(w, compact.String())
	_ = w.WriteByte('"')
}

// stringOf returns a constant as JSON.
func stringOf(text string) raw { return raw(`"` + text + `"`) }
