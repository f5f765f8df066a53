package census

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestStateOfPod(t *testing.T) {
	changing := aPod("a", "1", oldImage, true)
	changing.Spec.Containers[0].Image = newImage
	ending := aPod("a", "1", oldImage, true)
	ending.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want PodState
	}{
		"ready":                          {aPod("a", "1", oldImage, true), PodState{image: oldImage, ready: true}},
		"pending":                        {aPod("a", "1", oldImage, false), PodState{image: oldImage}},
		"its node has yet to change it":  {changing, PodState{image: oldImage}},
		"on its way out and still ready": {ending, PodState{image: oldImage, ready: true, ending: true}},
	} {
		if got := stateOfPod(test.pod); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

func TestStateOfOwner(t *testing.T) {
	three := ptr.To[int32](3)
	manager := &v1.PodManager{Spec: v1.PodManagerSpec{Replicas: three}}
	manager.Generation = 2
	manager.Status = v1.PodManagerStatus{ObservedGeneration: 2, Replicas: 3}
	ready := manager.DeepCopy()
	ready.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
	good := ready.DeepCopy()
	good.Status.CurrentRevision, good.Status.UpdateRevision = "web-1", "web-1"
	rolledOut := good.DeepCopy()
	rolledOut.Status.UpdateRevision = "web-2"
	outdated := good.DeepCopy()
	outdated.Generation = 3
	terminating := ready.DeepCopy()
	terminating.Status.TerminatingReplicas = 1
	set := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: three}}
	set.Status = appsv1.ReplicaSetStatus{Replicas: 3, ReadyReplicas: 3}
	rolling := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: three}}
	rolling.Status = appsv1.DeploymentStatus{Replicas: 3, AvailableReplicas: 3, UpdatedReplicas: 2}
	for name, test := range map[string]struct {
		owner runtime.Object
		want  OwnerState
	}{
		"not ready":                   {manager, OwnerState{counted: true}},
		"ready":                       {ready, OwnerState{counted: true, settled: true}},
		"known to be good":            {good, OwnerState{counted: true, settled: true, good: true}},
		"with a revision to prove":    {rolledOut, OwnerState{counted: true, settled: true}},
		"of another generation":       {outdated, OwnerState{}},
		"with a pod on its way out":   {terminating, OwnerState{counted: true}},
		"a ReplicaSet":                {set, OwnerState{counted: true, settled: true, good: true}},
		"a Deployment on its way":     {rolling, OwnerState{counted: true}},
		"something that owns nothing": {&corev1.Pod{}, OwnerState{}},
	} {
		if got := stateOfOwner(test.owner); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}
