// Package users simulates the users of a PodManager: they write its spec, release new templates, and edit fields at any time.
//
// specs.go has random specs and templates, edits.go has what users edit, and describe.go describes both in words.
//
// Package world simulates the effects of a spec.
package users
