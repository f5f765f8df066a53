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

// value is JSON that is yet to be written. An object of megabytes is written once, from the request into the answer, and is never in memory
// as a tree: that would take dozens of times its size.
type value interface {
	writeTo(*bufio.Writer)
}

// raw is a part of the request. A part that is missing is nil.
type raw []byte

func (r raw) writeTo(w *bufio.Writer) { _, _ = w.Write(r) }

func (r raw) isObject() bool { return len(r) > 0 && r[0] == '{' }

// text is what a string says; empty if it is no string.
func (r raw) text() string {
	var text string
	_ = json.Unmarshal(r, &text)
	return text
}

// pick has those of the fields that an object has. What is no object has none.
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

// edited is an object with other values of some fields. A field whose value is nil is left out.
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

// withFirst is a list with another first element, or a list of that alone.
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

// quoted is JSON in a string. It is compact, and has < > & as they are, although API servers send them escaped: people may read it.
type quoted raw

// inString puts JSON into a string. A pair of backslashes comes first, or the second of them could be taken for the begin of an escape.
var inString = strings.NewReplacer(`\\`, `\\\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\`, `\\`, `"`, `\"`)

func (q quoted) writeTo(w *bufio.Writer) {
	var compact bytes.Buffer
	_ = json.Compact(&compact, q) // it came as JSON
	_ = w.WriteByte('"')
	_, _ = inString.WriteString(w, compact.String())
	_ = w.WriteByte('"')
}

// stringOf is a constant as JSON.
func stringOf(text string) raw { return raw(`"` + text + `"`) }
