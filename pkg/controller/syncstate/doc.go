// Package syncstate keeps what one sync of a PodManager leaves for the next: backoffs of refused requests (see package requeue), names that pods
// outside the cache use, what events have reported, and the writes that the caches have to show first (see package consistency).
//
// Losing this state costs a request or two, never correctness: everything that must survive a restart is stored in the cluster.
package syncstate
