// Package v1alpha1 is the short shape of a PodManager, version v1alpha1 of the group apps.mycompany.com. It is deprecated, and served only
// where the conversion webhook is installed.
//
// v1 is the hub: objects are stored as v1, and pkg/webhook/conversion turns one version into the other for those who ask for this one. The
// controller, and all that has to work while no webhook answers, uses v1 only.
//
// +k8s:deepcopy-gen=package
// +groupName=apps.mycompany.com
package v1alpha1
