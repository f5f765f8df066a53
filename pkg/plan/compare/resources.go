package compare

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resizable are the resources that a resize can change.
var resizable = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// isResizable reports whether a container's resources differ, and only in the amounts of CPU and memory. The API server refuses a resize that adds
// or removes a request or a limit.
func isResizable(before, after corev1.ResourceRequirements) bool {
	if equality.Semantic.DeepEqual(before, after) {
		return false
	}
	before, after = withDefaults(before), withDefaults(after)
	return isSameButForAmounts(before.Requests, after.Requests) && isSameButForAmounts(before.Limits, after.Limits) &&
		equality.Semantic.DeepEqual(before.Claims, after.Claims)
}

// isPodResizable is isResizable for the resources of the pod itself. Each limit needs a request: otherwise the API server derives the request from
// the containers, and the template does not show its value.
func isPodResizable(before, after corev1.ResourceRequirements) bool {
	for name := range after.Limits {
		if _, found := after.Requests[name]; !found {
			return false
		}
	}
	return !equality.Semantic.DeepEqual(before, after) && isSameButForAmounts(before.Requests, after.Requests) &&
		isSameButForAmounts(before.Limits, after.Limits) && equality.Semantic.DeepEqual(before.Claims, after.Claims)
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

// withDefaults returns the resources with the API server's defaults: a missing request equals the limit.
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

// RestartAmounts returns the CPU and memory that the kubelet, by these resize policies, can change only by restarting the container.
func RestartAmounts(resources corev1.ResourceRequirements, policies []corev1.ContainerResizePolicy) corev1.ResourceRequirements {
	amounts := Resizable(resources)
	for _, list := range []corev1.ResourceList{amounts.Requests, amounts.Limits} {
		maps.DeleteFunc(list, func(name corev1.ResourceName, _ resource.Quantity) bool {
			return !slices.Contains(policies, corev1.ContainerResizePolicy{ResourceName: name, RestartPolicy: corev1.RestartContainer})
		})
	}
	return amounts
}

// HasOtherAmounts reports whether a container's resources differ from any of these amounts.
func HasOtherAmounts(resources, amounts corev1.ResourceRequirements) bool {
	resources = withDefaults(resources)
	differ := func(all, amounts corev1.ResourceList) bool {
		for name, amount := range amounts {
			if amount.Cmp(all[name]) != 0 {
				return true
			}
		}
		return false
	}
	return differ(resources.Requests, amounts.Requests) || differ(resources.Limits, amounts.Limits)
}

// Resizable returns the CPU and memory in a container's resources, with the API server's defaults.
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

// qosOf returns the QoS class of a pod. The API server refuses a resize that changes it.
func qosOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	var all []corev1.ResourceRequirements
	if spec.Resources != nil { // then only the pod-level resources decide
		all = append(all, *spec.Resources)
	} else {
		for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
			all = append(all, container.Resources)
		}
	}
	guaranteed, bestEffort := true, true
	for _, resources := range all {
		resources = withDefaults(resources)
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
