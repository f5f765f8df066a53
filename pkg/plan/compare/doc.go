// Package compare compares two pod templates: what an update in place from one to the other changes, or why it is impossible.
//
// Start with templates.go. resources.go compares the CPU and memory of containers and of the pods themselves, and determines the QoS class, as the
// API server and the kubelet do.
//
// The functions here know only templates and containers. How a pod is updated in place is in package inplace.
package compare
