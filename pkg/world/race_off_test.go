//go:build !race

package world

// scenarios is how many scenarios are played. It is a number and not a time limit, so that every machine plays the same scenarios: a test
// that plays fewer on a slow machine would pass there for no good reason. They take more than 10 s on one core.
const scenarios = 2500
