// Package dice makes the random decisions of the simulated world. The same seed leads to the same course of events on every machine. Without a
// seed, there is only one course.
package dice
