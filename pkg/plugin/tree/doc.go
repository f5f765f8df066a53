// Package tree formats the output of kubectl pm get.
//
// Start with tree.go: a header, then the PodManager with its revisions and their pods. list.go prints one line for each PodManager. lines.go
// formats the lines that a watch writes to a pipe.
package tree
