//go:build !linux || !(amd64 || arm64) || race

package luck

// Undisturbed has no effect here.
func Undisturbed() {}
