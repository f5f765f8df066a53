package fields

import (
	"encoding/json"
	"slices"
	"testing"
)

// Each line is a value for a schema, and whether the API server must refuse it.
func TestTrialsOf(t *testing.T) {
	tests := map[string]struct {
		schema string
		want   []string
	}{
		"an integer with a minimum": {
			`{"count":{"type":"integer","minimum":1}}`,
			[]string{"spec.count=1", "spec.count=2", "spec.count=2147483647", "spec.count=0 refused", "spec.count=2147483648 refused",
				"spec.count=1.5 refused", `spec.count="many" refused`, `spec.count="1" refused`, "spec.count=null"},
		},
		"a number or a percentage": {
			`{"limit":{"x-kubernetes-int-or-string":true,"x-kubernetes-validations":[{"rule":"type(self) == int ? self >= 1 : true"}]}}`,
			[]string{"spec.limit=1", `spec.limit="1%"`, `spec.limit="50%"`, `spec.limit="100%"`, "spec.limit=2147483647", "spec.limit=0 refused",
				"spec.limit=2147483648 refused", "spec.limit=1.5 refused", `spec.limit="101%" refused`, `spec.limit="-1%" refused`,
				`spec.limit="3" refused`, `spec.limit="many" refused`, "spec.limit=true refused", "spec.limit=null"},
		},
		"a time": {
			`{"at":{"type":"string","format":"date-time"}}`,
			[]string{`spec.at="2026-11-15T12:00:00Z"`, `spec.at="1999-12-31T23:59:59.5+01:00"`, `spec.at="" refused`, `spec.at="now" refused`,
				`spec.at="2026-11-15" refused`, `spec.at="2026-11-15T12:00:00" refused`, `spec.at="2026-11-15t12:00:00z" refused`,
				`spec.at="2026-02-30T12:00:00Z" refused`, `spec.at="0001-01-01T00:00:00Z" refused`, "spec.at=5 refused", "spec.at=null"},
		},
		"what is inside an object": {
			`{"outer":{"type":"object","properties":{"kind":{"type":"string","enum":["A","B"]}}}}`,
			[]string{"spec.outer={}", `spec.outer="text" refused`, "spec.outer=[] refused", "spec.outer=null", `spec.outer.kind="A"`, `spec.outer.kind="B"`,
				`spec.outer.kind="Nonsense" refused`, `spec.outer.kind="" refused`, "spec.outer.kind=7 refused", "spec.outer.kind=null"},
		},
		"the template is left out, the image cannot be": {
			`{"image":{"type":"string","minLength":1},"template":{"type":"object"}}`,
			[]string{`spec.image="nginx:1.26"`, `spec.image="" refused`, "spec.image=5 refused", "spec.image=null refused"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var schema map[string]any
			if err := json.Unmarshal([]byte(`{"properties":`+test.schema+`}`), &schema); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, made := range trialsOf(schema) {
				text := made.String()
				if made.Refused {
					text += " refused"
				}
				got = append(got, text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
