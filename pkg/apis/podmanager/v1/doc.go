// Package v1 is the API of PodManager, version v1 of the group apps.mycompany.com: its types, their defaults,
// and the names (labels, conditions, reasons, event reasons) that users and other programs may rely on.
//
// types.go has the spec, types_status.go the status, and names.go the names. defaults.go has the value of each field
// with its default, and turns percentages into numbers of pods, rounded up or down.
//
// Nothing here acts or decides. Everything that the API server can check by itself is a marker on the types, from
// which artifacts/crd.yaml is generated.
//
// +k8s:deepcopy-gen=package
// +groupName=apps.mycompany.com
package v1
