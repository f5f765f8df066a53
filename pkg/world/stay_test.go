package world

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Whatever maxSurge and maxUnavailable are, and however long each kubelet takes: pods that can be updated in place are still there after the
// rollout, and the surge pods are gone.
func TestUpdatedPodsStay(t *testing.T) {
	for seed := range uint64(60) {
		w := New(seed)
		w.Calm, w.mishapRate = true, 0
		w.Pods, w.Revisions, w.Manager.Status = nil, nil, v1.PodManagerStatus{}
		w.Manager.Spec = v1.PodManagerSpec{
			Replicas: ptr.To(int32(3 + seed%9)),
			Template: &corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
			},
			UpdateStrategy: v1.UpdateStrategy{RollingUpdate: &v1.RollingUpdate{
				PodUpdatePolicy: v1.InPlaceIfPossible,
				MaxSurge:        ptr.To(intstr.FromInt32(int32(1 + seed%3))), MaxUnavailable: ptr.To(intstr.FromInt32(int32(seed / 3 % 2))),
			}},
		}
		if err := runUntilIdle(w, &verdicts{}); err != nil {
			t.Fatal(seed, err)
		}
		before := uidsOf(w.Pods)
		w.edit(func(m *v1.PodManager) {
			m.Spec.Template = m.Spec.Template.DeepCopy()
			m.Spec.Template.Spec.Containers[0].Image = "app:2"
		})
		if err := runUntilIdle(w, &verdicts{}); err != nil {
			t.Fatal(seed, err)
		}
		if after := uidsOf(w.Pods); !slices.Equal(before, after) {
			t.Errorf("seed %d: %v before, %v after", seed, before, after)
		}
		for _, p := range w.Pods {
			if p.Spec.Containers[0].Image != "app:2" {
				t.Errorf("seed %d: %s still has %s", seed, p.Name, p.Spec.Containers[0].Image)
			}
		}
	}
}

func uidsOf(pods []*corev1.Pod) (uids []string) {
	for _, p := range pods {
		uids = append(uids, string(p.UID))
	}
	slices.Sort(uids)
	return uids
}
