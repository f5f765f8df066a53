package workloads

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestSamePlaces(t *testing.T) {
	pod := func(uid types.UID, address string) corev1.Pod {
		of := newPod("web", 0)
		of.UID, of.Status.PodIP = uid, address
		return *of
	}
	before := []corev1.Pod{pod("a", "10.0.0.1"), pod("b", "10.0.0.2"), pod("c", "10.0.0.3")}
	for name, test := range map[string]struct {
		after []corev1.Pod
		want  int
	}{
		"changed in place":                {before, 3},
		"in another order":                {[]corev1.Pod{before[2], before[0], before[1]}, 3},
		"replaced":                        {[]corev1.Pod{pod("d", "10.0.0.4"), pod("e", "10.0.0.5"), pod("f", "10.0.0.6")}, 0},
		"replaced by one at that address": {[]corev1.Pod{before[0], before[1], pod("d", "10.0.0.3")}, 2},
		"with another address":            {[]corev1.Pod{before[0], before[1], pod("c", "10.0.0.9")}, 2},
		"gone":                            {nil, 0},
	} {
		if got := samePlaces(before, test.after); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
