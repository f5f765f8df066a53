// Package snapshot holds a PodManager with its pods and revisions at one point in time, as far as the user may read them.
//
// Start with snapshot.go. revisions.go sorts the revisions and assigns their roles. pods.go describes the state of a pod. pick.go chooses pods.
// surplus.go finds the pods that do not stay during a pause. All rely on package plan and the packages below it, so that kubectl pm does not disagree
// with a controller of the same version.
package snapshot
