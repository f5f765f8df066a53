// Package surge finds out before a rollout whether it would wait for a surge pod that no node or quota has room for.
//
// Start with surge.go: IsNeeded reports whether a rollout can only continue with a surge pod, and Assess what keeps such a pod from running.
// places.go has the nodes that take a pod, and the pods that may not share one.
//
// Nothing here reads from the cluster: package cluster does.
package surge
