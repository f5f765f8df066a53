// Package reconcile has what the parts of a sync share, whether they gather, carry out a plan or report.
//
// deps.go has their dependencies, and the live read of a pod name; outcome.go has the outcome of a plan. errors.go has errors that mean more than
// a failed request: an object has changed since the plan was made, or the code has panicked.
package reconcile
