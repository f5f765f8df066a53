package inplace

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// resizable are the resources that a running container can get more or less of.
var resizable = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// isResizable tells whether a container's resources differ, and only in how much CPU or memory it has: the API server
// refuses to add or take away a request or a limit.
func isResizable(before, after corev1.ResourceRequirements) bool {
	if equality.Semantic.DeepEqual(before, after) {
		return false
	}
	before, after = requested(before), requested(after)
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

// requested are resources as the API server completes them: what is limited and not requested is requested in full.
func requested(resources corev1.ResourceRequirements) corev1.ResourceRequirements {
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

// restartsWhenResized tells whether the node restarts a container that has had other resources: it does so if the amount of
// one changes for which the container's resizePolicy asks for it.
func restartsWhenResized(had corev1.ResourceRequirements, container *corev1.Container) bool {
	was, is := requested(had), requested(container.Resources)
	return slices.ContainsFunc(container.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		differs := func(was, is corev1.ResourceList) bool {
			amount, other := was[policy.ResourceName], is[policy.ResourceName]
			return amount.Cmp(other) != 0
		}
		return policy.RestartPolicy == corev1.RestartContainer && (differs(was.Requests, is.Requests) || differs(was.Limits, is.Limits))
	})
}

// resizableOf are the amounts of CPU and memory that a container asks for, as the API server completes them.
func resizableOf(resources corev1.ResourceRequirements) corev1.ResourceRequirements {
	complete := requested(resources)
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

// qosOf is the quality-of-service class of a pod, which the API server does not let a resize change.
func qosOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, bestEffort := true, true
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		resources := requested(container.Resources)
		for _, name := range resizable {
			limit, limited := resources.Limits[name]
			request, requests := resources.Requests[name]
			if limited || requests {
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
