// Package lab is what the campaigns (hack/chaos and hack/bench) work in: a cluster of their own, and the controllers
// that they compare, as processes that can be started, measured, stopped and killed.
//
//	cluster.go    the cluster
//	components.go killing parts of it, and starting them again
//	process.go    a process, its resources and its end
//	contenders.go our controller, and the kube-controller-manager with one controller of it
package lab
