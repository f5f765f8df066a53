// Package users simulates the users of a PodManager: they write its spec, release new templates, and edit fields at any time.
//
// specs.go has random specs and templates, edits.go what users edit, describe.go both in words.
//
// What becomes of a spec is in package world.
package users
