// Package leaving decides which pods are about to leave, so that their replacements are created first: pods on a node that is being drained or is
// lost, and pods that are too old.
//
// A leaving pod does not count any more. The rest of the planner then sees a missing pod, and creates one with the revision that the rollout allows.
//
// Start with leaving.go: Find finds the leaving pods, and how many replacements are missing. draining.go recognizes a node that is being drained,
// before.go recalls from the status which pods were leaving, and bound.go keeps the number of leaving pods within the number of desired ones. age.go
// finds the pod that is too old, and force.go the pods on lost nodes that are deleted by force.
// Package controller/source knows since when a node is lost.
package leaving
