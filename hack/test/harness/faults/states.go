package faults

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// DecoyLabel marks decoys: pods that no controller may touch. Unless a PodManager or ReplicaSet controls it, the metadata of a decoy must not
// change.
const DecoyLabel = "chaos.mycompany.com/decoy"

// podState has the fields of a pod that the oracle needs.
type podState struct {
	owner     types.UID // the PodManager or ReplicaSet that controls the pod
	ownerName string    // namespace/name
	index     string
	active    bool
	ready     bool
	// decoy has the metadata that must not change; empty if the pod is not a decoy.
	decoy string
}

// ownerState has the fields of a PodManager or ReplicaSet that the oracle needs.
type ownerState struct {
	resource   string
	generation int64
	replicas   int
	// surge is how many pods more than replicas there may be during an update. Updates begin with the second template.
	surge int
	// leaving is how many of the pods may have a replacement beside them, because they are leaving.
	leaving  int
	template string
	claim    claim
}

// claim is what a status says.
type claim struct {
	generation int64
	active     int
	ready      int
	// done is true if the status says that the object is Ready.
	done bool
}

func stateOfPod(pod *corev1.Pod) *podState {
	state := &podState{
		index: pod.Labels[v1.LabelPodIndex],
		active: pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed &&
			pod.Status.Phase != corev1.PodSucceeded,
		ready: slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}),
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && (ref.Kind == v1.Kind || ref.Kind == "ReplicaSet") {
		state.owner, state.ownerName = ref.UID, pod.Namespace+"/"+ref.Name
	} else if _, marked := pod.Labels[DecoyLabel]; marked {
		state.decoy = asText(metav1.ObjectMeta{
			Labels: pod.Labels, Annotations: pod.Annotations, OwnerReferences: pod.OwnerReferences,
			Finalizers: pod.Finalizers, DeletionTimestamp: pod.DeletionTimestamp,
		})
	}
	return state
}

func stateOfPodManager(m *v1.PodManager) *ownerState {
	leaving := 0
	if m.Spec.Disruption != nil {
		leaving = m.DesiredReplicas()
	}
	return &ownerState{
		leaving:  leaving,
		resource: "podmanagers", generation: m.Generation, replicas: m.DesiredReplicas(), surge: m.MaxSurge(),
		template: asText([]any{m.Spec.Image, m.Spec.Template, m.Spec.RestartAt}),
		claim: claim{m.Status.ObservedGeneration, int(m.Status.Replicas), int(m.Status.ReadyReplicas),
			meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionReady)},
	}
}

func stateOfReplicaSet(r *appsv1.ReplicaSet) *ownerState {
	return &ownerState{
		resource: "replicasets", generation: r.Generation, replicas: int(ptr.Deref(r.Spec.Replicas, 1)),
		claim: claim{generation: r.Status.ObservedGeneration, active: int(r.Status.Replicas), ready: int(r.Status.ReadyReplicas)},
	}
}

func asText(value any) string {
	data, _ := json.Marshal(value) // cannot fail: plain structs
	return string(data)
}
