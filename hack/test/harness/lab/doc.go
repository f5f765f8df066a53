// Package lab runs a cluster and controllers for the campaigns (hack/chaos and hack/bench) and the end-to-end tests (hack/test/core and the like). Controllers
// are processes that can be started, measured, stopped and killed. The working directory has to be the root of the project.
//
//	cluster.go    the cluster, and kubectl
//	components.go killing parts of the cluster, and starting them again
//	etcd.go       backing etcd up, and restoring it
//	process.go    a process, its resources and its end
//	webhook.go    the validation of PodManagers, served by the campaign itself
//	contenders.go our controller, and the kube-controller-manager with a single controller
package lab
