// Package lab is what the campaigns (hack/chaos and hack/bench) and the end-to-end tests (hack/e2e) work in: a cluster, and
// controllers as processes that can be started, measured, stopped and killed. All of it expects to run in the root of the
// project.
//
//	cluster.go    the cluster, and kubectl
//	components.go killing parts of it, and starting them again
//	etcd.go       a backup of etcd, and going back to it
//	audit.go      reading its audit log
//	process.go    a process, its resources and its end
//	contenders.go our controller, and the kube-controller-manager with one controller of it
package lab
