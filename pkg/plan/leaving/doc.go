// Package leaving decides which pods are about to leave, so that their replacements are created first: pods on a node that is being drained or is
// lost, and pods that are too old.
//
// A leaving pod does not count any more. The rest of the planner then sees a missing pod, and creates one with the revision that the rollout allows.
package leaving
