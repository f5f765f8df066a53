package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plugin/manifest"
)

// A file is either read correctly or refused with its name. Applying it gives the same result as a JSON merge patch, and applying it a second
// time changes nothing.
func FuzzRead(f *testing.F) {
	web := head + "metadata: {name: web}\nspec: {image: a}\n"
	f.Add([]byte(web), "", live().Annotations[corev1.LastAppliedConfigAnnotation])
	f.Add([]byte("a: b\n---\n"+web+"---\n"+head+"metadata: {name: api}\n"), "web", "null")
	f.Add([]byte(`{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"web","labels":null},"spec":{"replicas":1,"template":{"spec":{"containers":[]}}}}`), "", `{"spec":null,"metadata":{"labels":{"a":"1"}}}`)
	f.Add([]byte(head+"metadata: [x]\n"), "", "[")
	f.Add([]byte(head+"metadata: {name: web, name: api}\nspec: &a {image: *a}"), "", `{"spec":{"image":{"a":null}}}`)
	f.Fuzz(func(t *testing.T, data []byte, name, lastApplied string) {
		file, err := Read("FILE", data, name)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "FILE") || file.Manager != nil {
				t.Errorf("refused without the name of the file: %v", err)
			}
			return
		}
		if file.Manager.Name == "" || name != "" && file.Manager.Name != name {
			t.Errorf("found %q, asked for %q", file.Manager.Name, name)
		}
		before := live()
		before.Annotations[corev1.LastAppliedConfigAnnotation] = lastApplied
		patch, err := file.Patch(before)
		if err != nil {
			if lastApplied == "" || isObject(lastApplied) {
				t.Errorf("the last applied configuration is a JSON object, and Patch refuses it: %v", err)
			}
			return
		}
		merged, err := file.Merged(before)
		if err != nil {
			return // a metadata field of the live object is incompatible with one in the file
		}
		document, encodedPatch := encode(t, before), encode(t, patch)
		if want, err := jsonpatch.MergePatch(document, encodedPatch); err != nil || !sameJSON(t, want, merged) {
			t.Errorf("merged to\n%s\nwant\n%s %v", encode(t, merged), want, err)
		}
		merged.Annotations = before.Annotations
		again, err := file.Merged(merged)
		if err != nil || !equality.Semantic.DeepEqual(again.Spec, merged.Spec) {
			t.Errorf("applied twice:\n%+v\nonce:\n%+v %v", again, merged, err)
		}
	})
}

// isObject reports whether a text is a JSON object.
func isObject(text string) bool {
	return json.Valid([]byte(text)) && strings.HasPrefix(strings.TrimSpace(text), "{")
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sameJSON reports whether data decodes to the same PodManager.
func sameJSON(t *testing.T, data []byte, want any) bool {
	t.Helper()
	decoded := &v1.PodManager{}
	return json.Unmarshal(data, decoded) == nil && string(encode(t, decoded)) == string(encode(t, want))
}
