//go:build !race

package world

// scenarios is how many scenarios run. It is a number instead of a time limit, so that every machine runs the same scenarios: a test that runs
// fewer on a slow machine would pass there for no good reason. They take more than 10 s on one core.
const scenarios = 1500
