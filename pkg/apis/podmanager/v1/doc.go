// Package v1 is the API of PodManager, version v1 of the group apps.mycompany.com: its types, their defaults,
// and the names (labels, conditions, reasons, event reasons) that users and other programs may rely on.
//
// types.go has the spec, types_status.go the status, and names.go the names. defaults.go has methods that return the value of a
// field or its default, and that turn percentages into numbers of pods.
//
// Nothing here acts or decides. Everything that the API server can check by itself is a marker on the types, from
// which make generate writes artifacts/crd.yaml.
//
// +k8s:deepcopy-gen=package
// +groupName=apps.mycompany.com
package v1
