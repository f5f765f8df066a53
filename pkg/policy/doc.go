// Package policy determines whether the rules of artifacts/policy.yaml are in force. They keep users from gaining rights through PodManagers.
//
// It reads nothing itself: pkg/clients reads the rules by name for the controller, and pkg/plugin/cluster reads them by label for the plugin.
package policy
