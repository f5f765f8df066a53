// Package syncstate keeps what one sync of a PodManager leaves for the next.
//
// state.go has the backoffs of refused requests (see package requeue), what events have reported, and the writes that the caches have to show first
// (see package consistency). names.go has the pod names for which the cache is not enough.
//
// Losing this state costs a request or two, never correctness: everything that must survive a restart is stored in the cluster.
package syncstate
