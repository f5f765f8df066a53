package compare_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	. "github.com/mycompany/podmanager/pkg/plan/compare"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// A checksum annotation requires a restart when it is added, changed or removed.
func TestChecksums(t *testing.T) {
	noted := func(annotations map[string]string) *corev1.PodTemplateSpec {
		return TemplateWith(func(t *corev1.PodTemplateSpec) { t.Annotations = annotations })
	}
	for name, test := range map[string]struct {
		from, to map[string]string
		restarts bool
	}{
		"appears, among none":   {to: map[string]string{"checksum/a": "1"}, restarts: true},
		"appears, among other":  {from: map[string]string{"note": "1"}, to: map[string]string{"note": "1", "checksum/a": "1"}, restarts: true},
		"changes":               {from: map[string]string{"checksum/a": "1"}, to: map[string]string{"checksum/a": "2"}, restarts: true},
		"is gone":               {from: map[string]string{"checksum/a": "1"}, to: map[string]string{"note": "1"}, restarts: true},
		"is gone, and no other": {from: map[string]string{"checksum/a": "1"}, restarts: true},
		"becomes empty":         {from: map[string]string{"checksum/a": ""}, to: map[string]string{}, restarts: true},
		"stays":                 {from: map[string]string{"checksum/a": "1"}, to: map[string]string{"checksum/a": "1", "note": "2"}},
		"was never there":       {from: map[string]string{"note": "1"}, to: map[string]string{"note": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, why := Templates(noted(test.from), noted(test.to)); (why != "") != test.restarts {
				t.Errorf("why not in place: %q", why)
			}
		})
	}
}
