package plantest

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/world"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// ApplyPatch patches a pod as the API server would.
func ApplyPatch(p *corev1.Pod, data []byte) { world.ApplyPatch(p, data) }

// SetCondition sets a condition of a pod, DropCondition removes it.
func SetCondition(p *corev1.Pod, c corev1.PodCondition)         { nodes.SetCondition(p, c) }
func DropCondition(p *corev1.Pod, kind corev1.PodConditionType) { nodes.DropCondition(p, kind) }

// Digest returns a plan as text, one line for each request.
func Digest(decided plan.Plan) []string { return world.Digest(decided) }
