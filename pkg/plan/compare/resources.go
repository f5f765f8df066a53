package compare

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// resizable are the resources that a resize can change.
var resizable = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// isResizable tells whether a container's resources differ, and only in the amounts of CPU and memory: the API server refuses a resize
// that adds or removes a request or a limit.
func isResizable(before, after corev1.ResourceRequirements) bool {
	if equality.Semantic.DeepEqual(before, after) {
		return false
	}
	before, after = withDefaults(before), withDefaults(after)
	return isSameButForAmounts(before.Requests, after.Requests) && isSameButForAmounts(before.Limits, after.Limits) &&
		equality.Semantic.DeepEqual(before.Claims, after.Claims)
}

func isSameButForAmounts(before, after corev1.ResourceList) bool {
	if len(before) != len(after) {
		return false
	}
	for name, amount := range before {
		other, found := after[name]
		if !found || (amount.Cmp(other) != 0 && !slices.Contains(resizable, name)) {
			return false
		}
	}
	return true
}

// withDefaults are the resources as the API server defaults them: a limit without a request is requested in full.
func withDefaults(resources corev1.ResourceRequirements) corev1.ResourceRequirements {
	complete := *resources.DeepCopy()
	for name, limit := range resources.Limits {
		if _, found := complete.Requests[name]; !found {
			if complete.Requests == nil {
				complete.Requests = corev1.ResourceList{}
			}
			complete.Requests[name] = limit
		}
	}
	return complete
}

// RestartsWhenResized tells whether the kubelet restarts a container to resize it from its old resources: the amount of a resource
// changes for which the container's resizePolicy is RestartContainer.
func RestartsWhenResized(oldResources corev1.ResourceRequirements, container *corev1.Container) bool {
	from, to := withDefaults(oldResources), withDefaults(container.Resources)
	return slices.ContainsFunc(container.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		differs := func(from, to corev1.ResourceList) bool {
			amount, other := from[policy.ResourceName], to[policy.ResourceName]
			return amount.Cmp(other) != 0
		}
		return policy.RestartPolicy == corev1.RestartContainer && (differs(from.Requests, to.Requests) || differs(from.Limits, to.Limits))
	})
}

// Resizable are the CPU and memory in a container's resources, as the API server defaults them.
func Resizable(resources corev1.ResourceRequirements) corev1.ResourceRequirements {
	complete := withDefaults(resources)
	only := func(list corev1.ResourceList) (kept corev1.ResourceList) {
		for _, name := range resizable {
			if amount, found := list[name]; found {
				if kept == nil {
					kept = corev1.ResourceList{}
				}
				kept[name] = amount
			}
		}
		return kept
	}
	return corev1.ResourceRequirements{Requests: only(complete.Requests), Limits: only(complete.Limits)}
}

// qosOf is the QoS class of a pod. The API server refuses a resize that changes it.
func qosOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, bestEffort := true, true
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		resources := withDefaults(container.Resources)
		for _, name := range resizable {
			limit, limited := resources.Limits[name]
			request, requested := resources.Requests[name]
			if limited || requested {
				bestEffort = false
			}
			if !limited || limit.Cmp(request) != 0 {
				guaranteed = false
			}
		}
	}
	switch {
	case bestEffort:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}
