//go:build race

package world

// scenarios are fewer with the race detector, which makes them take ten times as long and can find nothing after the first ones: the world
// has no goroutines. make unit plays all of them without it.
const scenarios = 250
