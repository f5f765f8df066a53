// Package reconcile has what the parts of a sync share, whether they gather, carry out a plan or report.
//
// deps.go has what they depend on, outcome.go the outcome of a plan, errors.go the errors that say more than that a request has failed: an
// object has changed since the plan was made, or the code has panicked.
package reconcile
