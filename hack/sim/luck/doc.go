// Package luck takes the random choices of the Go runtime out of the hands of chance, so that a simulation comes out the same when it is played
// again: which case of a select goes first, where a range over a map begins, which of two timers of the same instant fires first, and what
// math/rand returns. It writes to the runtime's own description of the present thread. It finds the place by what changes there when the
// runtime draws a random number, and does nothing if it does not find it, as with another processor or version of Go.
//
// It also keeps the runtime from interrupting goroutines because the machine is busy with something else.
//
// It is for tests that run on one processor.
package luck
