// Package memory keeps what one sync of a PodManager leaves for the next: holds (see package requeue), names that pods of somebody
// else have taken, and what events have reported. latency.go has what all syncs have learned of how busy the API server is.
//
// Losing it costs a request or two, never correctness: whatever must survive a restart is in the cluster.
package memory
