package fields

import "testing"

// A patch has a new image in addition to the value, unless the value is an image.
func TestTrialPatch(t *testing.T) {
	tests := map[string]struct {
		trial Trial
		want  string
	}{
		"a field": {Trial{path: []string{"updateStrategy", "type"}, value: "Recreate"},
			`{"spec":{"template":{"spec":{"containers":[{"image":"new","name":"app"}]}},"updateStrategy":{"type":"Recreate"}}}`},
		"inside the template": {Trial{path: []string{"template", "spec", "restartPolicy"}, value: "Never"},
			`{"spec":{"template":{"spec":{"containers":[{"image":"new","name":"app"}],"restartPolicy":"Never"}}}}`},
		"the containers": {Trial{path: []string{"template", "spec", "containers"}, value: []any{}},
			`{"spec":{"template":{"spec":{"containers":[]}}}}`},
		"the image": {Trial{path: []string{"image"}}, `{"spec":{"image":null}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.trial.Patch("new"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
