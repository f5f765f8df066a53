package source

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestClaim(t *testing.T) {
	named := func(name, uid string) *v1.PodManager {
		return &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)}}
	}
	pod := func(namespace, label string, owner *v1.PodManager) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: map[string]string{v1.LabelManager: label}}}
		if owner != nil {
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1.GroupVersionKind)}
		}
		return p
	}
	web := named("web", "2")
	foreign := pod("ns", "web", nil)
	foreign.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: new(bool)}}
	*foreign.OwnerReferences[0].Controller = true
	tests := map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"ours":                           {pod: pod("ns", "web", web), want: "own"},
		"ours, relabelled":               {pod: pod("ns", "other", web), want: "own"},
		"nobody's":                       {pod: pod("ns", "web", nil), want: "orphan"},
		"nobody's, without the label":    {pod: pod("ns", "", nil)},
		"of a PodManager that is gone":   {pod: pod("ns", "web", named("web", "1")), want: "leftover"},
		"of another PodManager":          {pod: pod("ns", "web", named("db", "3"))},
		"nobody's, in another namespace": {pod: pod("other", "web", nil)},
		"of a ReplicaSet":                {pod: foreign},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			claims := Claim(web, []*corev1.Pod{test.pod})
			got := map[bool]string{len(claims.Own) == 1: "own", len(claims.Orphans) == 1: "orphan", len(claims.Leftovers) == 1: "leftover"}[true]
			if got != test.want {
				t.Errorf("the pod is %q, want %q", got, test.want)
			}
		})
	}
}
