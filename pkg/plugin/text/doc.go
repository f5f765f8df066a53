// Package text lays text out for people: tables that fit a terminal, colours, ages, and a screen that is redrawn.
//
// Start with table.go. style.go decides about colours, screen.go redraws. Nothing here knows PodManagers.
package text
