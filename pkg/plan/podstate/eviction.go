package podstate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationSafeToEvict on a pod lets Cluster Autoscaler remove the pod's node. Without it, the autoscaler keeps every node that runs a pod of a
// controller which it does not know.
const AnnotationSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"

// safeToEvict is shared by all pods of the caches that have no other annotation.
var safeToEvict = map[string]string{AnnotationSafeToEvict: "true"}

// NeedsSafeToEvict reports whether the controller sets AnnotationSafeToEvict on a pod. It does not if the template or a user has set the annotation,
// or if the pod has data on its node: the annotation would end the autoscaler's protection of that data.
func NeedsSafeToEvict(pod *corev1.Pod) bool {
	_, isSet := pod.Annotations[AnnotationSafeToEvict]
	return !isSet && pod.Namespace != metav1.NamespaceSystem && !slices.ContainsFunc(pod.Spec.Volumes, isOnNode)
}

// isOnNode reports whether a volume keeps its data on the node's disk.
func isOnNode(volume corev1.Volume) bool {
	return volume.HostPath != nil || volume.EmptyDir != nil && volume.EmptyDir.Medium != corev1.StorageMediumMemory
}

// trimmedVolumes returns what NeedsSafeToEvict has to know about the pod's volumes. It need not know anything if the pod has the annotation.
func trimmedVolumes(pod *corev1.Pod) []corev1.Volume {
	if _, isSet := pod.Annotations[AnnotationSafeToEvict]; isSet || !slices.ContainsFunc(pod.Spec.Volumes, isOnNode) {
		return nil
	}
	return onNode
}

// onNode stands for the volumes of a trimmed pod that has data on its node.
var onNode = []corev1.Volume{{Name: "on-node", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
