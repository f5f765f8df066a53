// Package luck makes the random choices of the Go runtime reproducible, so that a simulation has the same result when it is replayed: which case of
// a select is taken, where a range over a map starts, which of two timers for the same instant fires first, and what math/rand returns; and in which
// order goroutines run if many become ready at the same instant. It writes
// to the runtime's descriptor of the current thread. It finds the location by watching what changes when the runtime draws a random number. If it
// does not find it, as on another architecture or another version of Go, it does nothing.
//
// It also stops the runtime's monitor thread, which would preempt goroutines because other processes use the CPU.
//
// It is for tests that run with GOMAXPROCS=1.
package luck
