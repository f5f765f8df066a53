//go:build race

package world

// scenarios is lower with the race detector, which makes each scenario take ten times as long. The world has no goroutines, so further scenarios
// would find no races. make unit runs all of them without it.
const scenarios = 250
