package compare

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// A stored template may contain anything. If a pod can be updated in place from one template to the other, the diff is complete. Otherwise the text
// says why not.
func FuzzTemplates(f *testing.F) {
	f.Add([]byte(`{"spec":{"containers":[{"name":"app","image":"a"}]}}`), []byte(`{"spec":{"containers":[{"name":"app","image":"b"}]}}`))
	f.Add([]byte(`{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"1"},"limits":{"cpu":"1","memory":"1Gi"}}}]}}`),
		[]byte(`{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"500m"},"limits":{"cpu":"1","memory":"2Gi"}}}]}}`))
	f.Add([]byte(`{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`), []byte(`{"spec":{"containers":[{"name":"a"},{"name":"c","image":"b"}]}}`))
	f.Add([]byte(`{"metadata":{"finalizers":["a"]},"spec":{}}`), []byte(`{"spec":{"containers":[]}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		from, to := &corev1.PodTemplateSpec{}, &corev1.PodTemplateSpec{}
		if json.Unmarshal(a, from) != nil || json.Unmarshal(b, to) != nil || hasTwins(from) || hasTwins(to) {
			return
		}
		diff, why := Templates(from, to)
		if why != "" {
			if diff.NeedsKubelet() || equality.Semantic.DeepEqual(from, to) {
				t.Errorf("there is the diff %+v, although an update in place is impossible: %s", diff, why)
			}
			return
		}
		if _, back := Templates(to, from); back != "" {
			t.Errorf("an update in place is possible, but not back: %s", back)
		}
		changed := from.DeepCopy()
		for i := range changed.Spec.Containers {
			c := &changed.Spec.Containers[i]
			if image, found := diff.Images[c.Name]; found {
				c.Image = image
			}
			if resources, found := diff.Resources[c.Name]; found {
				c.Resources = resources
			}
		}
		for i := range to.Spec.Containers {
			if got, want := &changed.Spec.Containers[i], &to.Spec.Containers[i]; got.Image != want.Image ||
				!equality.Semantic.DeepEqual(withDefaults(got.Resources), withDefaults(want.Resources)) {
				t.Errorf("updated to %+v, want %+v", got, want)
			}
		}
	})
}

// hasTwins reports whether two containers have the same name, which the API server does not allow.
func hasTwins(template *corev1.PodTemplateSpec) bool {
	names := map[string]bool{}
	for _, c := range template.Spec.Containers {
		if names[c.Name] {
			return true
		}
		names[c.Name] = true
	}
	return false
}
