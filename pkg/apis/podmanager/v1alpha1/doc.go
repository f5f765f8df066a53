// Package v1alpha1 has a PodManager with few fields, version v1alpha1 of the group apps.mycompany.com. It is deprecated, and is served only
// where the conversion webhook is installed.
//
// v1 is the hub: objects are stored as v1, and pkg/webhook/conversion converts them for clients that use v1alpha1. The controller, and
// everything that has to work while no webhook answers, uses v1 only.
//
// +k8s:deepcopy-gen=package
// +groupName=apps.mycompany.com
package v1alpha1
