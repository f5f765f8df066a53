// Package text formats text for the terminal: tables that fit its width, colours, ages, and a screen that is redrawn.
//
// Start with table.go. style.go decides when to use colours, and screen.go redraws. Nothing here depends on PodManagers.
package text
