// Package rights names the ClusterRole that gives a user a missing right, and the command that binds it.
//
// The roles of PodManagers are those of artifacts/rbac.yaml. All others are built into Kubernetes.
package rights
