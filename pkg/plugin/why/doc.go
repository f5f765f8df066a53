// Package why explains what blocks a PodManager: the cause in a sentence, the evidence, and the next command to run.
//
// Start with why.go: Find reads the conditions and finds the worst pod. causes.go has the explanation and the commands for each reason.
// What the API server refuses, such as a pod beyond a quota, is in the message that package plan/status wrote; causes.go recognizes it there.
// evidence.go adds what only the API server knows: the last log lines and the events. drain.go explains leaving pods and drains, and
// deletion.go what a PodManager that is being deleted waits for.
package why
