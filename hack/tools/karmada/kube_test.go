package karmada

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	luajson "layeh.com/gopher-json"
)

// kube loads the stand-in of Karmada's library kube. A table that is not a pod template is an error, as in Karmada. An unknown field is an error only
// here.
func kube(state *lua.LState) int {
	state.Push(state.SetFuncs(state.NewTable(), map[string]lua.LGFunction{
		"accuratePodRequirements": func(state *lua.LState) int {
			push(state, requirementsOf(templateOf(state)))
			return 1
		},
		"getPodDependencies": func(state *lua.LState) int {
			push(state, dependenciesOf(templateOf(state), state.CheckString(2)))
			return 1
		},
	}))
	return 1
}

// templateOf decodes the first argument.
func templateOf(state *lua.LState) *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{}
	data, err := luajson.Encode(state.CheckTable(1))
	if err == nil {
		// In Lua, an empty object and an empty list are the same.
		data = bytes.ReplaceAll(data, []byte(`:[]`), []byte(`:{}`))
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(template)
	}
	if err != nil {
		state.RaiseError("no pod template: %v", err)
	}
	return template
}

// push pushes a value as Karmada does: through JSON. So an empty list of Go is nil in Lua.
func push(state *lua.LState, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		state.RaiseError("%v", err)
	}
	decoded, err := luajson.Decode(state, data)
	if err != nil {
		state.RaiseError("%v", err)
	}
	state.Push(decoded)
}

// requirements has a part of what Karmada's scheduler wants to know about a pod.
type requirements struct {
	NodeClaim struct {
		NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	} `json:"nodeClaim"`
	ResourceRequest corev1.ResourceList `json:"resourceRequest,omitempty"`
}

// requirementsOf returns nil for a pod without requirements.
func requirementsOf(template *corev1.PodTemplateSpec) *requirements {
	var found requirements
	found.NodeClaim.NodeSelector = template.Spec.NodeSelector
	sum := map[corev1.ResourceName]resource.Quantity{}
	for _, container := range template.Spec.Containers {
		for name, quantity := range container.Resources.Requests {
			total := sum[name]
			total.Add(quantity)
			sum[name] = total
		}
	}
	if found.ResourceRequest = sum; len(sum) == 0 && len(template.Spec.NodeSelector) == 0 {
		return nil
	}
	return &found
}

// reference names an object that a pod needs.
type reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// dependenciesOf returns nil for a pod that needs no other object.
func dependenciesOf(template *corev1.PodTemplateSpec, namespace string) []reference {
	names := map[reference]bool{}
	add := func(kind, name string) { names[reference{"v1", kind, namespace, name}] = true }
	if name := template.Spec.ServiceAccountName; name != "" && name != "default" {
		add("ServiceAccount", name)
	}
	for _, secret := range template.Spec.ImagePullSecrets {
		add("Secret", secret.Name)
	}
	for _, volume := range template.Spec.Volumes {
		if claim := volume.PersistentVolumeClaim; claim != nil {
			add("PersistentVolumeClaim", claim.ClaimName)
		}
	}
	for _, container := range template.Spec.Containers {
		for _, from := range container.EnvFrom {
			if from.ConfigMapRef != nil {
				add("ConfigMap", from.ConfigMapRef.Name)
			}
		}
	}
	return slices.Collect(maps.Keys(names))
}
