package nodes

import (
	corev1 "k8s.io/api/core/v1"
)

func Condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func SetCondition(p *corev1.Pod, c corev1.PodCondition) {
	if found := Condition(p, c.Type); found != nil {
		if found.Status == c.Status {
			c.LastTransitionTime = found.LastTransitionTime
		}
		*found = c
		return
	}
	p.Status.Conditions = append(p.Status.Conditions, c)
}

func DropCondition(p *corev1.Pod, kind corev1.PodConditionType) {
	var kept []corev1.PodCondition
	for _, c := range p.Status.Conditions {
		if c.Type != kind {
			kept = append(kept, c)
		}
	}
	p.Status.Conditions = kept
}

func IsFinished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

func IsReady(p *corev1.Pod) bool {
	ready := Condition(p, corev1.PodReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}
