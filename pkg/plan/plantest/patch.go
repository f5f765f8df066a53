package plantest

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// ApplyPatch patches a pod as the API server would. A changed spec gets a new generation.
func ApplyPatch(p *corev1.Pod, patch []byte) {
	before, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
	if err != nil {
		panic(err)
	}
	var patched corev1.Pod
	if err := json.Unmarshal(after, &patched); err != nil {
		panic(err)
	}
	if !equality.Semantic.DeepEqual(p.Spec, patched.Spec) {
		patched.Generation++
	}
	*p = patched
}

// SetCondition sets a condition of a pod, DropCondition removes it.
func SetCondition(p *corev1.Pod, c corev1.PodCondition) {
	DropCondition(p, c.Type)
	p.Status.Conditions = append(p.Status.Conditions, c)
}

func DropCondition(p *corev1.Pod, kind corev1.PodConditionType) {
	p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
}
