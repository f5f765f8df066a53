// Package testenv runs a controller under the faults of a scenario, and judges the run in the end.
//
// Start with env.go: an Env is a namespace with a proxy, an oracle and a controller. A scenario is a function that gets an Env. It acts as
// the user, injects faults, and calls Settle and Judge, which check that the pods are as requested.
//
//	scenario.go, run.go  the description of a scenario; a run of one scenario with one controller and one seed, and its result
//	contender.go         the controllers: ours, and the ReplicaSet controller
//	user.go              the requests of a user, and what the user wants after them
//	churn.go             users who create, scale, edit, relabel and delete at random
//	settle.go            whether everything is as wanted in the end, and the controller quiet
//	latency.go           how slow the machine currently is; all limits allow for it
//
// This package knows no scenario. Helpers for only one kind of scenario are in package scenarios.
package testenv
