//go:build !(amd64 || arm64) || race

package luck

// IsKnown reports whether the runtime is one whose choices can be taken over.
func IsKnown() bool { return false }

// Seed has no effect here.
func Seed(uint64) {}
