// Package revisions is what history and diff show, and which revision the user means.
//
// Start with history.go. choose.go finds the revision that a number, a hash or a name stands for. fields.go compares two templates field
// by field, and asks package compare about each field whether it can be changed in place.
package revisions
