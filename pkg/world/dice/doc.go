// Package dice decides at random what happens in the simulated world. The same seed gives the same course of events on every machine, and
// without dice there is only one.
package dice
