package users

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Describe returns the spec of a PodManager in one line.
func Describe(m *v1.PodManager) string {
	return fmt.Sprintf("%d replicas, %s, minReady %v, on failure %s (grace %v, threshold %d), deadline %v, paused %v, %s, scale-down limited %v, current %s",
		m.DesiredReplicas(), describeStrategy(m), m.MinReady(), m.OnFailure(), m.FailureGrace(), m.FailureThreshold(), m.ProgressDeadline(),
		m.Spec.Paused, m.Spec.PodReplacementPolicy, m.PacesScaleDown(), m.Status.CurrentRevision)
}

func describeStrategy(m *v1.PodManager) string {
	if m.Strategy() != v1.RollingUpdateStrategy {
		return string(m.Strategy())
	}
	return fmt.Sprintf("surge %d unavailable %d partition %d, %s after %v", m.MaxSurge(), m.MaxUnavailable(), m.Partition(),
		m.PodUpdatePolicy(), m.InPlaceGrace())
}

// describeTemplate describes the fields in which templates differ.
func describeTemplate(template *corev1.PodTemplateSpec) string {
	text := template.Annotations["note"]
	for _, list := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range list {
			requests := list[i].Resources.Requests
			text += fmt.Sprintf(" %s=%s %v %v", list[i].Name, list[i].Image, requests.Cpu(), requests.Memory())
			for _, env := range list[i].Env {
				text += " " + env.Name + "=" + env.Value
			}
		}
	}
	return text
}
