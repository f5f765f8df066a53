// Package change implements the verbs that write: each turns a PodManager into a patch and a sentence that describes the change.
//
// Start with change.go: a Change collects operations, and Patch returns them as a JSON patch. The other files choose the operations: verbs.go has
// restart, pause, resume, retry and promote, image.go has set image, and undo.go has undo. owners.go warns if a tool such as Flux owns a field and
// would revert the change.
//
// A patch names only the fields that it changes. It is refused if another client has changed the spec since it was read.
package change
