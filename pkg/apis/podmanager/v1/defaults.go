package v1

// The defaults. The API server fills them in; these are for objects that were written before they existed.
const (
	DefaultReplicas               = 3
	DefaultFailedPodsHistoryLimit = 1
)

// DesiredReplicas is the number of pods wanted.
func (m *PodManager) DesiredReplicas() int {
	if m.Spec.Replicas == nil {
		return DefaultReplicas
	}
	return int(*m.Spec.Replicas)
}

// FailedPodsKept is how many failed pods are kept for a look.
func (m *PodManager) FailedPodsKept() int {
	if m.Spec.FailedPodsHistoryLimit == nil {
		return DefaultFailedPodsHistoryLimit
	}
	return int(*m.Spec.FailedPodsHistoryLimit)
}
