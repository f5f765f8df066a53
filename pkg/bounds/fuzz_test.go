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
	// perByte and atLeast are how much of the heap an object may take, by the size of its JSON.
	perByte = 40
	atLeast = 256 << 10
)

// live is how much of the heap is in use. Garbage does not count: how much of it there is at a time is up to the garbage collector, and what
// is thrown away while a list grows is a multiple of what is kept.
func live() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// go test -fuzz FuzzHeap: whatever the bytes are, the object that is made of them takes at most a multiple of their size, or there is none.
// A part is repeated, because only many of something can be dear. While the last list grows, the old and the new one exist: what is kept
// counts twice.
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
	_ = Unmarshal([]byte(of(`"containers":[{}]`)), warm) // the fields of all types are found out once
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

// go test -fuzz FuzzParts: the fields and elements of a value are those that encoding/json finds, and all of them are JSON.
func FuzzParts(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b\u0020":[1, {"c":[]}],"":null}`, ` [ {} , "]" , -1.5e3 ] `, `{`, `[1,]`, `{"a":1,}`, `"a"`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) || !utf8.Valid(data) || Check(data, nil) != nil {
			return // encoding/json replaces what is no UTF-8
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
			t.Fatalf("%d fields and %d elements in %q", len(fields), len(elements), data)
		}
		for name, value := range wantFields {
			if !bytes.Equal(fields[name], value) {
				t.Errorf("%q is %q, want %q", name, fields[name], value)
			}
		}
		for i, value := range wantElements {
			if !bytes.Equal(elements[i], value) {
				t.Errorf("%d is %q, want %q", i, elements[i], value)
			}
		}
	})
}
