// Package snapshot is a PodManager with its pods and revisions at one time, as far as the user may read them.
//
// Start with snapshot.go. revisions.go sorts the revisions and says what each of them is. pods.go says what a pod is doing; all of it is
// read off package plan and the packages below it, so that kubectl podmanager never has another opinion than the controller.
package snapshot
