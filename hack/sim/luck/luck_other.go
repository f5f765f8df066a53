//go:build !(amd64 || arm64) || race

package luck

// IsKnown reports whether the random choices of this runtime can be seeded.
func IsKnown() bool { return false }

// Seed has no effect here.
func Seed(uint64) {}
