// Package text formats text for the terminal: tables that fit its width, colours, ages, and a screen that is redrawn.
//
// Start with table.go. style.go decides when to use colours, and screen.go redraws. clean.go removes control characters. command.go has
// the plugin's name. Nothing here depends on the API of PodManagers.
package text
