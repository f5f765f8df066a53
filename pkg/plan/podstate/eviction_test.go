package podstate_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plan/podstate"
)

// NeedsSafeToEvict returns the same for a pod before and after Trim.
func TestNeedsSafeToEvict(t *testing.T) {
	volume := func(source corev1.VolumeSource) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: source})
		}
	}
	onDisk := volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	tests := map[string]struct {
		change []func(*corev1.Pod)
		want   bool
	}{
		"no volumes":                  {want: true},
		"configuration":               {change: []func(*corev1.Pod){volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}})}, want: true},
		"in memory":                   {change: []func(*corev1.Pod){volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}})}, want: true},
		"on disk":                     {change: []func(*corev1.Pod){volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}), onDisk}},
		"of the host":                 {change: []func(*corev1.Pod){volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}})}},
		"allowed":                     {change: []func(*corev1.Pod){Annotated(AnnotationSafeToEvict, "true")}},
		"allowed, on disk":            {change: []func(*corev1.Pod){Annotated(AnnotationSafeToEvict, "true"), onDisk}},
		"forbidden":                   {change: []func(*corev1.Pod){Annotated(AnnotationSafeToEvict, "false")}},
		"in the system's namespace":   {change: []func(*corev1.Pod){func(p *corev1.Pod) { p.Namespace = metav1.NamespaceSystem }}},
		"another annotation is there": {change: []func(*corev1.Pod){Annotated(corev1.PodDeletionCost, "1")}, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := Pod(0, Unannotated)
			for _, change := range test.change {
				change(pod)
			}
			if got := NeedsSafeToEvict(pod); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
			if Trim(pod); NeedsSafeToEvict(pod) != test.want {
				t.Errorf("trimmed: %v, want %v", !test.want, test.want)
			}
		})
	}
}
