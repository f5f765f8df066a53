package bounds

import (
	"bytes"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// perByte and atLeast limit how much heap an object may take, by the size of its JSON.
	perByte = 40
	atLeast = 256 << 10
)

// live returns how much of the heap is in use. Garbage does not count: how much of it exists at any time depends on the garbage collector,
// and a growing list throws away several times what it keeps.
func live() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// go test -fuzz FuzzHeap: whatever the bytes are, Unmarshal either fails or returns an object that takes at most a multiple of their size. A
// part is repeated, because only a large number of something can be expensive. While a list grows, the old and the new one exist at the same
// time, so what is kept counts twice.
func FuzzHeap(f *testing.F) {
	seed := func(pod, part string, times uint16) {
		before, after, _ := strings.Cut(of(pod), "|")
		f.Add([]byte(before), []byte(part), times, []byte(after))
	}
	seed(`"containers":[|{}]`, container(3), 100)
	seed(`"containers":[|{}]`, `{},`, 2000)
	seed(`"containers":[|{}]`, `{"resources":{"limits":{"":1}}},`, 50)
	seed(`"tolerations":[|{}]`, `{},`, 20_000)
	seed(`"imagePullSecrets":[|{}]`, `{},`, 20_000)
	seed(`"volumes":[|{}]`, `{"secret":{}},`, 2000)
	seed(`"volumes":[|{}]`, `{"csi":{"volumeAttributes":{"":""}}},`, 500)
	seed(`"topologySpreadConstraints":[|{}]`, `{"labelSelector":{"matchLabels":{"":""}}},`, 500)
	seed(`"dnsConfig":{"searches":[|""]}`, `"",`, 20_000)
	seed(`"overhead":{|"a":1,"b":"2"}`, `"":1e9,`, 10)
	seed(`"nodeSelector":{"a":"|"}`, `b\u0000`, 1000)
	f.Add([]byte(`{"metadata":{"ownerReferences":[`), []byte(`{},`), uint16(1000), []byte(`{}],"annotations":{"":""}},"status":{"conditions":[{}]}}`))
	f.Add([]byte(`{"metadata":{"managedFields":[`), []byte(`{"fieldsV1":{}},`), uint16(1000), []byte(`{}]}}`))
	warm := &v1.PodManager{}
	_ = Unmarshal([]byte(of(`"containers":[{}]`)), warm) // the fields of all types are computed once
	f.Fuzz(func(t *testing.T, before, part []byte, times uint16, after []byte) {
		data := slices.Concat(before, bytes.Repeat(part, int(times)), after)
		start := live()
		manager := &v1.PodManager{}
		err := Unmarshal(data, manager)
		took := 2 * (live() - start)
		if err == nil && took > int64(perByte*len(data)+atLeast) {
			t.Errorf("%d bytes take %d of the heap", len(data), took)
		}
		runtime.KeepAlive(manager)
	})
}

// go test -fuzz FuzzParts: Fields and Elements return the same parts as encoding/json, and each part is valid JSON.
func FuzzParts(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b\u0020":[1, {"c":[]}],"":null}`, ` [ {} , "]" , -1.5e3 ] `, `{`, `[1,]`, `{"a":1,}`, `"a"`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) || !utf8.Valid(data) || Check(data, nil) != nil {
			return // encoding/json replaces invalid UTF-8
		}
		fields, elements := map[string]json.RawMessage{}, []json.RawMessage{}
		for field := range Fields(data) {
			if text := string(field.Text); !json.Valid([]byte("{"+text+"}")) || !strings.HasSuffix(text, string(field.Value)) {
				t.Errorf("the text of a field is %q", text)
			}
			fields[string(field.Name)] = field.Value
		}
		for element := range Elements(data) {
			elements = append(elements, element)
		}
		var wantFields map[string]json.RawMessage
		var wantElements []json.RawMessage
		_ = json.Unmarshal(data, &wantFields)
		_ = json.Unmarshal(data, &wantElements)
		if len(fields) != len(wantFields) || len(elements) != len(wantElements) {
			t.Fatalf("found %d fields and %d elements in %q, other numbers than encoding/json", len(fields), len(elements), data)
		}
		for name, value := range wantFields {
			if !bytes.Equal(fields[name], value) {
				t.Errorf("field %q is %q, want %q", name, fields[name], value)
			}
		}
		for i, value := range wantElements {
			if !bytes.Equal(elements[i], value) {
				t.Errorf("element %d is %q, want %q", i, elements[i], value)
			}
		}
	})
}
