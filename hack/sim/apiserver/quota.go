package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
)

// checkQuotas refuses a pod that exceeds a quota. Usage is computed from the existing pods. The caller holds the lock.
func (s *Server) checkQuotas(r *Request, created *corev1.Pod) error {
	var used corev1.ResourceList
	for _, o := range s.tables["resourcequotas"].objects {
		if o.GetNamespace() != r.Namespace {
			continue
		}
		if used == nil {
			used = s.usage(r.Namespace)
		}
		if err := checkQuota(o.Object.(*corev1.ResourceQuota), created, used); err != nil {
			return apierrors.NewForbidden(r.Resource.groupResource(), created.GetName(), err)
		}
	}
	return nil
}

// usage returns the resources used by the pods of a namespace that have not finished.
func (s *Server) usage(namespace string) corev1.ResourceList {
	used := corev1.ResourceList{}
	for _, o := range s.tables["pods"].objects {
		if o.GetNamespace() != namespace {
			continue
		}
		if pod := o.Object.(*corev1.Pod); pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
			add(used, usageOf(pod))
		}
	}
	return used
}

func usageOf(pod *corev1.Pod) corev1.ResourceList {
	used := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1"), "count/pods": resource.MustParse("1")}
	for _, c := range pod.Spec.Containers {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if request, found := c.Resources.Requests[name]; found {
				add(used, corev1.ResourceList{name: request, "requests." + name: request})
			}
			if limit, found := c.Resources.Limits[name]; found {
				add(used, corev1.ResourceList{"limits." + name: limit})
			}
		}
	}
	return used
}

func add(sum, more corev1.ResourceList) {
	for name, quantity := range more {
		total := sum[name]
		total.Add(quantity)
		sum[name] = total
	}
}

func checkQuota(quota *corev1.ResourceQuota, pod *corev1.Pod, used corev1.ResourceList) error {
	wanted := usageOf(pod)
	var asked, before, limited []string
	for _, name := range slices.Sorted(maps.Keys(quota.Spec.Hard)) {
		request, present, hard := wanted[name], used[name], quota.Spec.Hard[name]
		total := present.DeepCopy()
		if total.Add(request); total.Cmp(hard) > 0 {
			asked = append(asked, fmt.Sprintf("%s=%s", name, request.String()))
			before = append(before, fmt.Sprintf("%s=%s", name, present.String()))
			limited = append(limited, fmt.Sprintf("%s=%s", name, hard.String()))
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return fmt.Errorf("exceeded quota: %s, requested: %s, used: %s, limited: %s",
		quota.Name, strings.Join(asked, ","), strings.Join(before, ","), strings.Join(limited, ","))
}
