// Package history knows pod templates and the ControllerRevisions that they are stored in.
//
// Start with revisions.go: Find tells the revision of the present template, the last good one, and those of the pods. revision.go has
// a single revision with its template, encoding and hash. store.go decides which revisions to store, to renew and to drop.
//
// Nothing here decides which revision a pod is to have; package rollout does.
package history
