// Command mutants breaks the planner on purpose, and shows whether its tests notice.
//
//	table.go     hand-written mutants: each breaks a promise, and names what has to catch it, the world of pkg/world or the unit tests
//	leaving.go   those of drained and lost nodes, and of old pods
//	operators.go mutants by rule: the other comparison, the other operator, a negated condition
//	rewrite.go   a source with switches, so that one program has many mutants
//	programs.go  chooses the mutants of the sample that compile, and builds the test programs that have all of them
//	sample.go    runs the tests that reach a mutant of the sample, and prints the survivors
//	run.go       builds a mutant of the table beside the sources, and runs tests against it
//
// All mutants of the table have to be caught. Of the others, a sample runs against the unit tests only; the same seed selects the same sample. A
// survivor is either an equivalent program or shows that a test is missing.
package main
