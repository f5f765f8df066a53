// Package history handles pod templates and the ControllerRevisions that store them.
//
// Start with revisions.go: Find finds the revision of the template in the spec, the last good revision, and the revisions of the pods, and names a
// new one so that it differs from all others. revision.go has a single revision with its template, encoding and hash. store.go decides which
// revisions to store, renew, mark and drop.
//
// Nothing here decides which revision a pod gets; package rollout does.
package history
