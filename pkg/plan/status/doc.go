// Package status says how things are: the counts, the conditions, and the transitions that events tell of.
//
// Start with status.go: Of turns a Report, made after a plan was carried out, into a PodManagerStatus. conditions.go has the conditions,
// readiness.go the reason and the message of Ready, hints.go and overdue.go what is added to that message. transitions.go compares two
// statuses for events, pace.go decides how soon a status is worth a write.
//
// Nothing here changes what is done: package plan has decided that before.
package status
