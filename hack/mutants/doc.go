// Command mutants breaks the planner on purpose, and shows whether its tests notice.
//
//	table.go     hand-written mutants: each breaks a promise, and names what has to catch it, the world of pkg/world or the unit tests
//	operators.go mutants by rule: the other comparison, the other operator, a negated condition
//	run.go       builds a mutant beside the sources, runs tests against it and prints the survivors
//
// All mutants of the table have to be caught. Of the others, a sample runs against the unit tests only; the same seed selects the same sample. A
// survivor is either an equivalent program or shows that a test is missing.
package main
