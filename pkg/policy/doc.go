// Package policy judges whether the rules of artifacts/policy.yaml are in force that keep users from gaining rights through PodManagers.
//
// It reads nothing itself: for the controller pkg/clients reads the rules by name, for the plugin pkg/plugin/cluster by label.
package policy
