// Package tree is what kubectl podmanager get shows.
//
// Start with tree.go: a header, then the PodManager with its revisions and their pods. list.go is one line for each PodManager, lines.go
// what is printed to a pipe while watching.
package tree
