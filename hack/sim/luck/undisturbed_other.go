//go:build !linux

package luck

// Undisturbed has no effect here.
func Undisturbed() {}
