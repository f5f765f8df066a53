// Package surge finds out beforehand if a rollout would wait for a surge pod that gets no room.
//
// Start with surge.go: IsNeeded reports whether a rollout can only continue with a surge pod, and Judge what keeps such a pod from running.
// places.go has the nodes that take a pod, and the pods that may not share one.
//
// Nothing here reads from the cluster: package cluster does.
package surge
