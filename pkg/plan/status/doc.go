// Package status computes a PodManager's status: the counts, the conditions, and the transitions that become events.
//
// Start with status.go: Compute turns a Report, which has the decisions and their outcome, into a PodManagerStatus. conditions.go has the conditions.
// readiness.go has the reason and the message of Ready, and hints.go and overdue.go add to that message. surge.go reports surge pods that find no
// node, and leaving.go pods that leave and replacements that are late. transitions.go compares two statuses to
// find events. ending.go does the same to find the end of a rollout, which is counted. pace.go decides how long to delay a status write.
//
// Package plan decides about pods, and concludes which revision has failed and which one is good; nothing here does. A Report has all that as values.
package status
