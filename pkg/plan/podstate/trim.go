package podstate

import (
	"maps"
	"slices"
	"strconv"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/bounds"
)

// Trim drops the fields of a pod that no plan and no status depends on, and lets pods share equal values. A plan for trimmed pods is the same as
// for complete ones; the tests of package world compare the two.
func Trim(pod *corev1.Pod) {
	pod.ManagedFields = trimmedFields(pod)
	pod.GenerateName = ""
	pod.Labels = keep(pod.Labels, v1.LabelManager, v1.LabelRevision, v1.LabelShard, corev1.LabelTopologyZone)
	share(&pod.Namespace)
	for i := range pod.OwnerReferences {
		ref := &pod.OwnerReferences[i]
		share(&ref.APIVersion, &ref.Kind, &ref.Name, (*string)(&ref.UID))
	}
	volumes := trimmedVolumes(pod)
	pod.Annotations = keep(pod.Annotations, v1.AnnotationDelete, v1.AnnotationFailuresBefore, v1.AnnotationDisruptionsBefore,
		v1.AnnotationReplaces, v1.AnnotationInPlace, corev1.PodDeletionCost, AnnotationSafeToEvict, annotationVPACreated, annotationVPAObserved, annotationVPAResized)
	if maps.Equal(pod.Annotations, safeToEvict) {
		pod.Annotations = safeToEvict
	}
	pod.Spec = corev1.PodSpec{
		NodeName: pod.Spec.NodeName, ReadinessGates: pod.Spec.ReadinessGates, Containers: sharedContainers(pod.Spec.Containers), Volumes: volumes,
		Resources: pod.Spec.Resources,
	}
	share(&pod.Spec.NodeName)
	trimStatus(pod)
}

// trimmedFields returns the managed fields that show when the pod left its Services, or that its node's clock is ahead. Few pods need them.
func trimmedFields(pod *corev1.Pod) []metav1.ManagedFieldsEntry {
	if !IsDrained(pod) && !isClockAhead(pod) {
		return nil
	}
	return slices.DeleteFunc(pod.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool { return !setsReady(entry) })
}

// shared has the containers of trimmed pods by their content, because the pods of a revision have equal containers.
var shared = bounds.NewCache[[]corev1.Container](4 << 20)

// sharedContainers returns the containers with only their names, images, requests, limits, restart rules and the period of their startup probe.
// Callers must not modify them, because other pods share them.
func sharedContainers(containers []corev1.Container) []corev1.Container {
	var content []byte
	// Each text is prefixed with its length. Otherwise an image that contains blanks could be mistaken for an image and the next text.
	add := func(text string) {
		content = append(strconv.AppendInt(content, int64(len(text)), 10), ':')
		content = append(content, text...)
	}
	trimmed := make([]corev1.Container, len(containers))
	for i := range containers {
		c := &containers[i]
		trimmed[i] = corev1.Container{Name: c.Name, Image: c.Image, RestartPolicyRules: c.RestartPolicyRules}
		trimmed[i].Resources = corev1.ResourceRequirements{Requests: c.Resources.Requests, Limits: c.Resources.Limits}
		add(c.Name)
		add(c.Image)
		if c.StartupProbe != nil {
			trimmed[i].StartupProbe = &corev1.Probe{PeriodSeconds: c.StartupProbe.PeriodSeconds}
			content = append(strconv.AppendInt(append(content, 's'), int64(c.StartupProbe.PeriodSeconds), 10), ' ')
		}
		for _, rule := range c.RestartPolicyRules {
			add(string(rule.Action))
			add(rule.ExitCodes.String())
		}
		content = append(content, '/')
		for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
			for _, name := range slices.Sorted(maps.Keys(list)) {
				amount := list[name]
				add(string(name))
				add(amount.String())
			}
			content = append(content, '/')
		}
	}
	return shared.Get(string(content), func() []corev1.Container { return trimmed })
}

func trimStatus(pod *corev1.Pod) {
	status := &pod.Status
	*status = corev1.PodStatus{
		ObservedGeneration: status.ObservedGeneration, Phase: status.Phase, Conditions: status.Conditions,
		Reason: status.Reason, Message: status.Message, StartTime: status.StartTime,
		InitContainerStatuses: status.InitContainerStatuses, ContainerStatuses: status.ContainerStatuses, Resources: otherResources(pod),
	}
	share((*string)(&status.Phase), &status.Reason)
	if status.Phase == corev1.PodRunning || status.Phase == corev1.PodPending {
		// Finished pods keep all conditions: any of their times may show when the pod finished.
		isBehind, isUnaccepted := clockLag(pod) > 0, status.Phase == corev1.PodPending && status.StartTime == nil
		status.Conditions = slices.Clone(slices.DeleteFunc(status.Conditions, func(c corev1.PodCondition) bool {
			return saysNothing(c) && !((isBehind || isUnaccepted) && c.Type == corev1.PodScheduled)
		}))
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		share((*string)(&c.Type), (*string)(&c.Status), &c.Reason, &c.Message)
	}
	for _, containers := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range containers {
			c := &containers[i]
			trimmed := corev1.ContainerStatus{
				Name: c.Name, ImageID: c.ImageID, Ready: c.Ready, RestartCount: c.RestartCount,
				State: c.State, LastTerminationState: c.LastTerminationState, Started: notStarted(c),
			}
			if differsFromSpec(pod, c) {
				trimmed.Resources = c.Resources
			}
			*c = trimmed
			share(&c.Name, &c.ImageID)
		}
	}
}

// otherResources returns the resources of the pod itself that the kubelet reports, if they differ from the spec. The request for memory says nothing:
// a kubelet (1.36) goes on to report the one that the pod had when it started.
func otherResources(pod *corev1.Pod) *corev1.ResourceRequirements {
	if wanted, reported := pod.Spec.Resources, pod.Status.Resources; wanted != nil && reported != nil &&
		(differ(wanted.Requests, reported.Requests, corev1.ResourceCPU) || differ(wanted.Limits, reported.Limits, corev1.ResourceCPU, corev1.ResourceMemory)) {
		return reported
	}
	return nil
}

// notStarted returns a container's Started if it adds information: the container runs, and its startup probe has not succeeded yet.
func notStarted(c *corev1.ContainerStatus) *bool {
	if c.State.Running != nil && c.Started != nil && !*c.Started {
		return c.Started
	}
	return nil
}

// saysNothing reports whether a condition is a completed step towards Ready, which pkg/plan does not read.
func saysNothing(c corev1.PodCondition) bool {
	switch c.Type {
	case corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReadyToStartContainers:
		return c.Status == corev1.ConditionTrue
	default:
		return false
	}
}

// share makes equal strings use the same memory.
func share(texts ...*string) {
	for _, text := range texts {
		if *text != "" {
			*text = unique.Make(*text).Value()
		}
	}
}

// keep returns the entries of a map that have one of the keys, or nil if there are none.
func keep(texts map[string]string, keys ...string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		if text, found := texts[key]; found {
			if kept == nil {
				kept = make(map[string]string, len(keys))
			}
			share(&text)
			kept[key] = text
		}
	}
	return kept
}
