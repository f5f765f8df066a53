package v1

// DefaultReplicas is what spec.replicas means when it is left out. The API server fills it in; this is for objects
// that were written before the default existed.
const DefaultReplicas = 3

// DesiredReplicas is the number of pods wanted.
func (m *PodManager) DesiredReplicas() int {
	if m.Spec.Replicas == nil {
		return DefaultReplicas
	}
	return int(*m.Spec.Replicas)
}
