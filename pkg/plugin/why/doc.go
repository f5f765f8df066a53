// Package why says what holds a PodManager up: the cause in a sentence, the evidence, and the next command to type.
//
// Start with why.go: Find reads the conditions and finds the pod that is worst off. causes.go has what to say and to do for each reason.
// evidence.go adds what only the API server can tell: the last log lines and the events.
package why
