// Package status makes a PodManager's status: the counts, the conditions, and the transitions that become events.
//
// Start with status.go: Of turns a Report, which has what was decided and what came of it, into a PodManagerStatus. conditions.go has the
// conditions, readiness.go the reason and the message of Ready, hints.go and overdue.go what is added to that message. transitions.go
// compares two statuses for events, ending.go for the end of a rollout, which is counted. pace.go decides how long to put off a status write.
//
// Nothing here decides about pods: package plan does.
package status
