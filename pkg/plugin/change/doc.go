// Package change is what the verbs that write do: each turns a PodManager into a patch, and a sentence that says what was changed.
//
// Start with change.go. verbs.go has restart, pause, resume, retry and promote, image.go set image, undo.go undo. owners.go warns when a tool
// such as Flux owns a field and would put it back.
//
// A patch names the fields that it changes and no others, and is refused if somebody has changed the spec since it was read.
package change
