// Package revisions implements history and diff, and finds the revision that the user means.
//
// Start with history.go. choose.go finds a revision by its number, hash or name. fields.go compares two templates field by field. diff.go asks
// package compare whether each field can be changed in place.
package revisions
